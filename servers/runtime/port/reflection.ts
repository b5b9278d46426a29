import { ServerReflection as ReflectionV1 } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ReflectionV1alpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { type ServiceRoute, serviceRoute } from "../grpc/service-route.js";
import { createDescriptorIndex, type DescriptorIndex } from "./descriptor-index.js";

/** A query of either version; their messages differ in package alone. */
type Query =
  | { readonly case: "fileByFilename"; readonly value: string }
  | { readonly case: "fileContainingSymbol"; readonly value: string }
  | {
      readonly case: "fileContainingExtension";
      readonly value: { readonly containingType: string; readonly extensionNumber: number };
    }
  | { readonly case: "allExtensionNumbersOfType"; readonly value: string }
  | { readonly case: "listServices"; readonly value: string }
  | { readonly case: undefined; readonly value?: undefined };

type Answer =
  | {
      readonly case: "fileDescriptorResponse";
      readonly value: { readonly fileDescriptorProto: Uint8Array[] };
    }
  | {
      readonly case: "allExtensionNumbersResponse";
      readonly value: { readonly baseTypeName: string; readonly extensionNumber: number[] };
    }
  | {
      readonly case: "listServicesResponse";
      readonly value: { readonly service: { readonly name: string }[] };
    }
  | {
      readonly case: "errorResponse";
      readonly value: { readonly errorCode: number; readonly errorMessage: string };
    };

const NOT_FOUND = 5;
const INVALID_ARGUMENT = 3;

/**
 * Server reflection, v1 and v1alpha, over the services of `routes` and reflection itself.
 *
 * @returns Two routes, to be added to those of the port.
 */
export function reflectionRoutes(routes: readonly ServiceRoute[]): ServiceRoute[] {
  const index = createDescriptorIndex([
    ...routes.map((route) => route.service),
    ReflectionV1,
    ReflectionV1alpha,
  ]);
  return [
    serviceRoute(ReflectionV1, {
      async *serverReflectionInfo(requests) {
        for await (const request of requests) {
          const messageResponse = answerQuery(index, request.messageRequest);
          yield { validHost: request.host, originalRequest: request, messageResponse };
        }
      },
    }),
    serviceRoute(ReflectionV1alpha, {
      async *serverReflectionInfo(requests) {
        for await (const request of requests) {
          const messageResponse = answerQuery(index, request.messageRequest);
          yield { validHost: request.host, originalRequest: request, messageResponse };
        }
      },
    }),
  ];
}

function answerQuery(index: DescriptorIndex, query: Query): Answer {
  switch (query.case) {
    case "fileByFilename":
      return files(index.fileByName(query.value), `a file ${query.value}`);
    case "fileContainingSymbol":
      return files(index.fileOfSymbol(query.value), `a symbol ${query.value}`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = query.value;
      return files(
        index.fileOfExtension(containingType, extensionNumber),
        `an extension ${extensionNumber} of ${containingType}`,
      );
    }
    case "allExtensionNumbersOfType": {
      const numbers = index.extensionNumbers(query.value);
      return numbers === undefined
        ? failure(NOT_FOUND, `this server has no message ${query.value}`)
        : {
            case: "allExtensionNumbersResponse",
            value: { baseTypeName: query.value, extensionNumber: numbers },
          };
    }
    case "listServices":
      return { case: "listServicesResponse", value: { service: index.services.map((name) => ({ name })) } };
    case undefined:
      return failure(INVALID_ARGUMENT, "expected a query in message_request, found none");
  }
}

function files(found: Uint8Array[] | undefined, sought: string): Answer {
  return found === undefined
    ? failure(NOT_FOUND, `this server does not have ${sought}`)
    : { case: "fileDescriptorResponse", value: { fileDescriptorProto: found } };
}

function failure(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
