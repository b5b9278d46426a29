import type { Block, InlineBlob } from "../../../../../gen/index.js";
import { invalidField } from "../../../../runtime/refusal.js";
import { type Json, readExtra } from "../extra.js";

/** Parts of what a user or the environment says; `texts`: the type of a part of text. */
export function inputParts(blocks: readonly Block[], at: string): Json[] {
  return blocks.map((block, i) => ({
    ...partOf(block, `${at}[${i}]`),
    ...readExtra("openai_responses", block.extraJson),
  }));
}

function partOf({ kind }: Block, at: string): Json {
  switch (kind.case) {
    case "text":
    case "json":
      return { type: "input_text", text: kind.value };
    case "blob":
      return blobPart(kind.value);
    case "uri": {
      const { uri, mediaType } = kind.value;
      const image = mediaType === "" || mediaType.startsWith("image/");
      return image
        ? { type: "input_image", image_url: uri, detail: "auto" }
        : { type: "input_file", file_url: uri };
    }
    default:
      throw invalidField(at, "Responses takes text, JSON, blobs and URIs only");
  }
}

function blobPart({ data, mediaType }: InlineBlob): Json {
  const type = mediaType === "" ? "application/octet-stream" : mediaType;
  const url = `data:${type};base64,${Buffer.from(data).toString("base64")}`;
  if (type.startsWith("image/")) return { type: "input_image", image_url: url, detail: "auto" };
  return {
    type: "input_file",
    filename: `file.${type.split("/")[1]?.replace(/[^a-z0-9]/gi, "") ?? "bin"}`,
    file_data: url,
  };
}
