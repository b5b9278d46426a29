import { episodeClient, http2Channel } from "../../clients/index.js";
import { serveEpisodes } from "../world/episode-servers.js";
import { episodeWorker } from "../world/episode-session.js";
import type { Point } from "./point.js";

/** Whole episodes of three servers in one process, asked for by another process. */
export const point: Point = {
  serve: serveEpisodes,
  async connect(url) {
    const client = episodeClient(http2Channel({ url }));
    return async () => episodeWorker(client);
  },
};
