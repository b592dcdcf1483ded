const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A length of time as people type it. */
export const durationPattern = String.raw`^\d{1,6}[smhd]$`

/** Milliseconds of a text that has that form. */
export const durationMs = (text: string): number => Number(text.slice(0, -1)) * unitMs[text.at(-1)!]!
