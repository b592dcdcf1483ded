const units: Record<string, number> = {
  B: 1,
  K: 1e3,
  KB: 1e3,
  M: 1e6,
  MB: 1e6,
  G: 1e9,
  GB: 1e9,
  T: 1e12,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
}

/**
 * Bytes of a size such as `256MiB`, `1.5 GB` or `4096`: K, M, G, T and KB … TB are powers of 1000, KiB … TiB of 1024.
 * undefined when it is no size.
 */
export function parseSize(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(value)
  if (match === null) return undefined
  const unit = units[(match[2] ?? '').toUpperCase() || 'B']
  if (unit === undefined) return undefined
  const bytes = Math.round(Number(match[1]) * unit)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}
