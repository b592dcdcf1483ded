/** Reflected polynomials, and bytes: RFC 3720, appendix B.4, and the NVM Express base specification. */
const polynomials = {
  crc32c: { polynomial: 0x82f63b78n, bytes: 4 },
  crc64nvme: { polynomial: 0x9a6c9329ac4bc9b5n, bytes: 8 },
} as const

/** Digests of a content that are made of those of its parts. */
export type JoinableKind = keyof typeof polynomials
export const isJoinable = (kind: string): kind is JoinableKind => Object.hasOwn(polynomials, kind)

/** A linear map of the bits of a CRC, as what it makes of each of them. */
type Matrix = readonly bigint[]

function times(matrix: Matrix, vector: bigint): bigint {
  let sum = 0n
  let rest = vector
  for (const column of matrix) {
    if ((rest & 1n) === 1n) sum ^= column
    rest >>= 1n
  }
  return sum
}

const squared = (matrix: Matrix): Matrix => matrix.map((column) => times(matrix, column))

/** What a byte of 0 makes of a CRC: eight shifts of the register. */
function zeroByte(kind: JoinableKind): Matrix {
  const { polynomial, bytes } = polynomials[kind]
  const shift = Array.from({ length: 8 * bytes }, (_, bit) =>
    bit === 0 ? polynomial : 1n << BigInt(bit - 1),
  )
  return squared(squared(squared(shift)))
}

/** What so many bytes of 0 make of a CRC. */
function zeroBytes(kind: JoinableKind, count: number): Matrix {
  let all: Matrix | undefined
  let power = zeroByte(kind)
  for (let rest = count; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) all = all === undefined ? power : all.map((column) => times(power, column))
    power = squared(power)
  }
  return all ?? power.map((_, bit) => 1n << BigInt(bit))
}

/** A content of which a digest is known. */
export interface DigestedPart {
  /** Base64, the most significant byte first. */
  readonly digest: string
  readonly sizeBytes: number
}

/**
 * The CRC of contents one after another, of the CRCs and the lengths of all; base64. Undefined where one of them is none.
 */
export function joinedCrc(kind: JoinableKind, parts: Iterable<DigestedPart>): string | undefined {
  // Nearly all parts have the same length.
  const known = new Map<number, Matrix>()
  const { bytes } = polynomials[kind]
  let crc = 0n
  for (const { digest, sizeBytes } of parts) {
    const its = Buffer.from(digest, 'base64')
    if (its.length !== bytes || its.toString('base64') !== digest) return undefined
    const zeros = known.get(sizeBytes) ?? zeroBytes(kind, sizeBytes)
    known.set(sizeBytes, zeros)
    crc = times(zeros, crc) ^ BigInt(`0x${its.toString('hex')}`)
  }
  return Buffer.from(crc.toString(16).padStart(2 * bytes, '0'), 'hex').toString('base64')
}
