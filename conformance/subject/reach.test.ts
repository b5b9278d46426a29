import { createServer as createHttp } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { reach } from "./reach.js";

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const at = (url: string) => reach({ url, headers: {} }, 500);

describe("reach", () => {
  it("tells what hinders, each in its own words", async () => {
    const gone = createServer();
    const nothing = await listening(gone);
    await new Promise((resolve) => gone.close(resolve));
    expect((await at(nothing))?.reason).toContain("nothing listens at 127.0.0.1");

    const silent = await listening(createServer());
    expect((await at(silent))?.reason).toContain("says nothing within 0.5 s");

    const http1 = await listening(createHttp());
    expect((await at(http1))?.reason).toContain("speaks HTTP/1 only");

    const closing = await listening(createServer((socket) => socket.destroy()));
    expect((await at(closing))?.reason).toContain("closed the connection at once");

    const other = await listening(createServer((socket) => socket.write("220 smtp ready\r\n")));
    expect((await at(other))?.reason).toContain("not as HTTP/2 does");

    const plain = await listening(createHttp2());
    expect(await at(plain)).toBeUndefined();
    expect((await at(plain.replace("http:", "https:")))?.reason).toContain("does not speak TLS");
  });
});
