export { deriveContext, requestHeaderOf } from "./call-context.js";
export { createGrpcHandler, type GrpcHandler, type GrpcHandlerOptions, isGrpc } from "./grpc-handler.js";
export { createMessageCodec, type MessageCodec, type MessageFormat } from "./message-codec.js";
export { type ServiceRoute, serviceRoute } from "./service-route.js";
