import { describe, expect, it } from "vitest";
import { parseEndpoint } from "./endpoint.js";

describe("parseEndpoint", () => {
  it.each([
    ["http://127.0.0.1:7001", { host: "127.0.0.1", port: 7001, secure: false }, "127.0.0.1:7001"],
    ["http://env.example", { host: "env.example", port: 80, secure: false }, "env.example:80"],
    ["https://env.example/", { host: "env.example", port: 443, secure: true }, "env.example:443"],
    ["http://[::1]:50051", { host: "::1", port: 50051, secure: false }, "[::1]:50051"],
    ["unix:///run/env.sock", { path: "/run/env.sock" }, "localhost"],
  ])("%s", (url, address, authority) => {
    expect(parseEndpoint({ url })).toMatchObject({ address, authority });
  });

  it.each(["127.0.0.1:7001", "ftp://host", "unix://relative", "http://host/path", "http://host?x=1", ""])(
    "refuses %j, saying what is expected",
    (url) => {
      expect(() => parseEndpoint({ url })).toThrow("http://host:port, https://host:port or unix:///path");
    },
  );

  it("refuses credentials in it, without telling them", () => {
    const parse = () => parseEndpoint({ url: "http://user:S3CRET@host" });
    expect(parse).toThrow("send credentials as headers");
    expect(parse).not.toThrow("S3CRET");
  });

  it("takes a contract's endpoint: an empty ca_pem means the machine's own roots", () => {
    expect(parseEndpoint({ url: "https://host", caPem: "" }).caPem).toBeUndefined();
  });
});
