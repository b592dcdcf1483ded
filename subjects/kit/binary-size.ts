const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
export type BinaryUnit = (typeof units)[number]

/** The largest unit of which there is at least one. */
export function binaryUnit(bytes: number): BinaryUnit {
  const steps = units.findLastIndex((_, index) => bytes >= 1024 ** index)
  return units[Math.max(0, steps)]!
}

/** How many of a unit: `1.5`; whole numbers of bytes, and from a hundred on. */
export function inBinaryUnit(bytes: number, unit: BinaryUnit): string {
  const value = bytes / 1024 ** units.indexOf(unit)
  return unit === 'B' || value >= 100 ? String(Math.round(value)) : value.toFixed(1)
}

/** `1536` → `1.5 KiB` */
export function sizeText(bytes: number): string {
  const unit = binaryUnit(bytes)
  return `${inBinaryUnit(bytes, unit)} ${unit}`
}

/** `1536` → `1.5 KiB/s` */
export const rateText = (bytesPerSecond: number): string => `${sizeText(bytesPerSecond)}/s`
