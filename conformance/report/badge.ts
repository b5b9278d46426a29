import type { RunResult } from "../runner/result.js";

const colours = { conformant: "#2da44e", "not-conformant": "#cf222e", incomplete: "#9a6700" } as const;
/** Width of a character of the badge's font, about. */
const characterWidth = 6.5;

/** A badge as SVG: profile and verdict. */
export function badge({ profile, verdict }: Pick<RunResult, "profile" | "verdict">): string {
  const label = `touchstone ${profile}`;
  const [left, right] = [label, verdict].map((text) => Math.round(text.length * characterWidth + 14)) as [
    number,
    number,
  ];
  const text = (x: number, content: string): string =>
    `<text x="${x}" y="14" fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${content}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${label}: ${verdict}">`,
    `<title>${label}: ${verdict}</title>`,
    `<rect width="${left}" height="20" fill="#444c56"/>`,
    `<rect x="${left}" width="${right}" height="20" fill="${colours[verdict]}"/>`,
    text(left / 2, label),
    text(left + right / 2, verdict),
    "</svg>",
    "",
  ].join("\n");
}
