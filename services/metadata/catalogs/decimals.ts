/** A decimal number as Java has it: its digits in two's complement, and how many of them stand after the point. */
export interface Decimal {
  readonly unscaled: Buffer
  readonly scale: number
}

/** Metastores have up to 38 digits, which are 16 bytes, and no scale beyond 38; whoever answers as one may send anything. */
const maxBytes = 64
const maxScale = 1_000

/** As people write it; undefined for one that no metastore has, of which the text could take any time and memory. */
export function decimalText({ unscaled, scale }: Decimal): string | undefined {
  if (unscaled.length > maxBytes || !Number.isInteger(scale) || Math.abs(scale) > maxScale) return undefined
  const told = BigInt.asIntN(8 * unscaled.length, BigInt(`0x0${unscaled.toString('hex')}`))
  const whole = scale < 0 ? told * 10n ** BigInt(-scale) : told
  const digits = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0')
  const point = digits.length - scale
  const text = scale > 0 ? `${digits.slice(0, point)}.${digits.slice(point)}` : digits
  return whole < 0n ? `-${text}` : text
}

/** Longest text of a number: 64 bytes are 154 digits. */
const maxTextLength = 160

/** Whether a text is a number as metastores have them, which is read without much time or memory. */
export const isNumberText = (text: string): boolean =>
  text.length <= maxTextLength && /^-?\d+(\.\d+)?$/.test(text)

/** Undefined for what is no number, or one that no metastore has. */
export function decimalOf(text: string): Decimal | undefined {
  if (!isNumberText(text)) return undefined
  const scale = text.includes('.') ? text.length - text.indexOf('.') - 1 : 0
  const whole = BigInt(text.replace('.', ''))
  // With a bit for the sign.
  const bytes = Math.floor((whole < 0n ? -whole : whole).toString(2).length / 8) + 1
  const hex = BigInt.asUintN(8 * bytes, whole)
    .toString(16)
    .padStart(2 * bytes, '0')
  return { unscaled: Buffer.from(hex, 'hex'), scale }
}
