import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** An authority and what it has signed: one server for 127.0.0.1 and localhost, one client. */
export interface Certificates {
  readonly authority: string;
  readonly server: Certificate;
  readonly client: Certificate;
}

/** Whether {@link makeCertificates} can work here. */
export function hasOpenssl(): boolean {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Makes fresh certificates with openssl: Node itself can only read them. */
export function makeCertificates(): Certificates {
  const directory = mkdtempSync(join(tmpdir(), "touchstone-tls-"));
  const openssl = (...args: string[]): void => {
    execFileSync("openssl", args, { cwd: directory, stdio: "pipe" });
  };
  const read = (file: string): string => readFileSync(join(directory, file), "utf8");
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const sign = (name: string): Certificate => {
    openssl("req", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    const authority = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial"];
    openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      ...authority,
      "-days",
      "2",
      "-extfile",
      "names",
      "-out",
      `${name}.pem`,
    );
    return { cert: read(`${name}.pem`), key: read(`${name}.key`) };
  };
  try {
    writeFileSync(join(directory, "names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
    openssl(
      ...["req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=authority"],
      ...["-keyout", "authority.key", "-out", "authority.pem"],
    );
    return { server: sign("server"), client: sign("client"), authority: read("authority.pem") };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
