import type { Block, InlineBlob, WebResource } from "../../../../../gen/index.js";
import { invalidField } from "../../../../runtime/refusal.js";
import { type Json, readExtra } from "../extra.js";

/** Content of a message: text where that is all it is, else parts. */
export function chatContent(blocks: readonly Block[], at: string): string | Json[] {
  const [only] = blocks;
  if (only === undefined) return "";
  if (blocks.length === 1 && only.extraJson === "") {
    if (only.kind.case === "text" || only.kind.case === "json") return only.kind.value;
  }
  return blocks.map((block, i) => ({
    ...partOf(block, `${at}[${i}]`),
    ...readExtra("openai_chat", block.extraJson),
  }));
}

function partOf({ kind }: Block, at: string): Json {
  switch (kind.case) {
    case "text":
    case "json":
      return { type: "text", text: kind.value };
    case "blob":
      return blobPart(kind.value, `${at}.blob`);
    case "uri":
      return uriPart(kind.value, `${at}.uri`);
    default:
      throw invalidField(at, "Chat Completions takes text, JSON, blobs and URIs only");
  }
}

function blobPart({ data, mediaType }: InlineBlob, at: string): Json {
  const base64 = Buffer.from(data).toString("base64");
  const url = `data:${mediaType};base64,${base64}`;
  if (mediaType.startsWith("image/")) return { type: "image_url", image_url: { url } };
  const audio = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(mediaType)?.[1];
  if (audio !== undefined) {
    return { type: "input_audio", input_audio: { data: base64, format: audio === "wav" ? "wav" : "mp3" } };
  }
  if (mediaType === "application/pdf") {
    return { type: "file", file: { filename: "document.pdf", file_data: url } };
  }
  throw invalidField(at, `expected an image, audio (wav, mp3) or PDF, found "${mediaType}"`);
}

function uriPart({ uri, mediaType }: WebResource, at: string): Json {
  if (mediaType === "" || mediaType.startsWith("image/"))
    return { type: "image_url", image_url: { url: uri } };
  throw invalidField(at, `expected an image, found "${mediaType}"`);
}
