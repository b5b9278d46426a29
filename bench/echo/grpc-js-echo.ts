import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
} from "@grpc/grpc-js";
import type { LoadSession, Point, PointServer } from "../points/point.js";
import { countedSession } from "./counted-session.js";
import { NextAnswer } from "./next-answer.js";

/** What an echo exchanges, and how it becomes bytes. */
export interface EchoMessages<Q, A> {
  readonly encodeRequest: (request: Q) => Buffer;
  readonly decodeRequest: (bytes: Buffer) => Q;
  readonly encodeReply: (reply: A) => Buffer;
  readonly decodeReply: (bytes: Buffer) => A;
  readonly request: (index: number) => Q;
  readonly reply: (request: Q) => A;
  /** @throws Error - It is not the answer to request `index`. */
  readonly check: (reply: A, index: number) => void;
}

const path = "/bench.Echo/Call";

/** Unary calls by grpc-js as it comes: all sessions share one client. */
export function unaryEcho<Q, A>(messages: EchoMessages<Q, A>): Point {
  return {
    serve: () =>
      serveEcho(messages, false, (call: ServerUnaryCall<Q, A>, answer: sendUnaryData<A>) =>
        answer(null, messages.reply(call.request)),
      ),
    async connect(address) {
      const client = new Client(address, credentials.createInsecure());
      const { encodeRequest, decodeReply, request, check } = messages;
      const call = (index: number): Promise<void> =>
        new Promise((resolve, reject) => {
          client.makeUnaryRequest(path, encodeRequest, decodeReply, request(index), (error, reply) => {
            if (error !== null || reply === undefined) reject(error ?? new Error("expected a reply"));
            else resolve(check(reply, index));
          });
        });
      return async () => countedSession(call);
    },
  };
}

/** A bidirectional stream for each session by grpc-js as it comes, all on one client. */
export function bidiEcho<Q, A>(messages: EchoMessages<Q, A>): Point {
  return {
    serve: () =>
      serveEcho(messages, true, (call: ServerDuplexStream<Q, A>) => {
        call.on("data", (request: Q) => call.write(messages.reply(request)));
        call.on("end", () => call.end());
        call.on("error", () => {});
      }),
    async connect(address) {
      const client = new Client(address, credentials.createInsecure());
      return async () => bidiSession(client, messages);
    },
  };
}

function bidiSession<Q, A>(client: Client, messages: EchoMessages<Q, A>): LoadSession {
  const stream = client.makeBidiStreamRequest(path, messages.encodeRequest, messages.decodeReply);
  const answer = new NextAnswer<A>();
  stream.on("data", (reply: A) => answer.take(reply));
  stream.on("error", (error) => answer.fail(error));
  return countedSession(
    async (index) => messages.check(await answer.after(() => stream.write(messages.request(index))), index),
    () => void stream.end(),
  );
}

async function serveEcho<Q, A>(
  messages: EchoMessages<Q, A>,
  streams: boolean,
  // biome-ignore lint/complexity/noBannedTypes: what grpc-js calls depends on the kind of method.
  handler: Function,
): Promise<PointServer> {
  const service: ServiceDefinition = {
    call: {
      path,
      requestStream: streams,
      responseStream: streams,
      requestSerialize: messages.encodeRequest,
      requestDeserialize: messages.decodeRequest,
      responseSerialize: messages.encodeReply,
      responseDeserialize: messages.decodeReply,
    },
  };
  const server = new Server();
  server.addService(service, { call: handler as never });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { address: `127.0.0.1:${port}`, close: async () => server.forceShutdown() };
}
