const NAME = /^(?!grpc-)[0-9a-z_.-]+$/;
const VALUE = /^[\x20-\x7e]*$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Checks metadata before it is sent: libraries differ in what they do to values that HTTP/2 cannot carry, from
 * silence to quoting a secret.
 *
 * @throws Error - A name or value that cannot be sent; the value is not told.
 */
export function checkMetadata(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!NAME.test(name)) {
      throw new Error(
        `expected names of digits, small letters, "_", "." and "-", not beginning with "grpc-"; found ${JSON.stringify(name)}`,
      );
    }
    if (name.endsWith("-bin") ? !BASE64.test(value) : !VALUE.test(value)) {
      const expected = name.endsWith("-bin") ? "base64" : "printable ASCII";
      throw new Error(`expected ${expected} as the value of ${name}, found something else`);
    }
  }
}
