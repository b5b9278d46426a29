import { Agent, createServer, request } from "node:http";
import { countedSession } from "../echo/counted-session.js";
import { jsonPayloads } from "../echo/json-payload.js";
import { listen } from "../echo/listen.js";
import { stepBytes } from "../world/step-messages.js";
import type { Point } from "./point.js";

const payloads = jsonPayloads(stepBytes());
const headers = (text: string) => ({
  "content-type": "application/json",
  "content-length": Buffer.byteLength(text),
});

/** HTTP/1.1 JSON POSTs by node:http on connections that are kept, one for each session. */
export const point: Point = {
  async serve() {
    const server = createServer((asked, answer) => {
      let body = "";
      asked.setEncoding("utf8");
      asked.on("data", (part: string) => {
        body += part;
      });
      asked.on("end", () => {
        const text = payloads.reply(body);
        answer.writeHead(200, headers(text));
        answer.end(text);
      });
    });
    const port = await listen(server);
    return {
      address: `http://127.0.0.1:${port}`,
      async close() {
        server.close();
        server.closeAllConnections();
      },
    };
  },
  async connect(address, sessions) {
    const { hostname, port } = new URL(address);
    const agent = new Agent({ keepAlive: true, maxSockets: sessions });
    const post = (text: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const asked = request(
          { agent, hostname, port, method: "POST", path: "/step", headers: headers(text) },
          (answer) => {
            let body = "";
            answer.setEncoding("utf8");
            answer.on("data", (part: string) => {
              body += part;
            });
            answer.on("end", () => resolve(body));
            answer.on("error", reject);
          },
        );
        asked.on("error", reject);
        asked.end(text);
      });
    return async () =>
      countedSession(async (index) => payloads.check(await post(payloads.request(index)), index));
  },
};
