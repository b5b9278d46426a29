import type { DescService } from "@bufbuild/protobuf";
import {
  AgentSessionService,
  BlobService,
  EnvironmentService,
  EpisodeService,
  ModelService,
  SandboxService,
} from "../gen/index.js";

/** The services of the contract that say of themselves what they are (Describe). */
export const describedServices: readonly DescService[] = [
  EnvironmentService,
  AgentSessionService,
  ModelService,
  SandboxService,
  EpisodeService,
];

/** Every service of the contract. */
export const contractServices: readonly DescService[] = [...describedServices, BlobService];
