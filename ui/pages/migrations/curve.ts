/** A figure over time. */
export type Curve = readonly (readonly [timeMs: number, figure: number])[]

/** Of a total that never becomes smaller, by two clocks that may differ a little. */
export function grown(points: Curve): Curve {
  let most = 0
  return points
    .toSorted(([one], [other]) => one - other)
    .map(([timeMs, figure]) => [timeMs, (most = Math.max(most, figure))] as const)
}
