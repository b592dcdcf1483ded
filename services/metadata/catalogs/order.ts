/** The order of names, by their code points: texts compare otherwise where characters take two units. */
export const byCodePoints = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))
