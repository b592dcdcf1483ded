/** The middle one of some figures. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The figure below which a share of all lie. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

/** One line of the report: a ratio with its aim, and the figures that it is made of. */
export interface Figure {
  readonly name: string
  readonly value: string
  readonly aim: string
  readonly details: string
}

export function print(title: string, figures: readonly Figure[]): void {
  const lines = figures.map(({ name, value, aim, details }) => `| ${name} | ${value} | ${aim} | ${details} |`)
  process.stdout.write(
    `\n## ${title}\n\n| what | figure | aim | from |\n|---|---|---|---|\n${lines.join('\n')}\n`,
  )
}
