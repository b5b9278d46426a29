import { episodeClient, http2Channel } from "../../clients/index.js";
import { serveEpisodes } from "../world/episode-servers.js";
import { episodeWorker } from "../world/episode-session.js";
import type { Point } from "./point.js";

/** Whole episodes, all in one process: three servers, and who asks them. */
export const point: Point = {
  async connect() {
    const { address } = await serveEpisodes();
    const client = episodeClient(http2Channel({ url: address }));
    return async () => episodeWorker(client);
  },
};
