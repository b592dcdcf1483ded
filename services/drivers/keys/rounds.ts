import forge from 'node-forge'

/**
 * Rounds by which a password becomes a key, at most: a file may ask for four thousand million, which a processor makes for
 * an hour, and nothing ends a thread that is in OpenSSL. OpenSSL writes 2,048, what is careful 600,000. Each key in a file has
 * its own, so that the sum counts.
 */
const maxRounds = 1_500_000

/** Sequences and texts in one another: P12 files have some twenty. */
const maxDepth = 64

/** Throws where a key asks for too many rounds, as far as that is written in the clear. @param der of a P12 file or a key */
export function requireFewRounds(der: Buffer): void {
  if (roundsOf(forge.asn1.fromDer(der.toString('latin1')), 0) > maxRounds)
    throw new Error(`it asks for more than ${maxRounds} rounds to make keys of its password`)
}

/** In all that is derived from a password the rounds follow the salt. */
function roundsOf({ value }: forge.asn1.Asn1, depth: number): number {
  if (depth > maxDepth) throw new Error('it is nested too deep')
  if (typeof value === 'string') return 0
  let [rounds, hasSalt] = [0, false]
  for (const part of value) {
    if (hasSalt && part.type === forge.asn1.Type.INTEGER) rounds += roundsIn(part)
    hasSalt = part.type === forge.asn1.Type.OCTETSTRING
    rounds += roundsOf(hasSalt ? (inner(part) ?? part) : part, depth + 1)
  }
  return rounds
}

const roundsIn = ({ value }: forge.asn1.Asn1): number =>
  typeof value === 'string' ? Number(`0x${Buffer.from(value, 'latin1').toString('hex') || '0'}`) : 0

/** What stands in a text; undefined where that is nothing that is written so. */
function inner({ value }: forge.asn1.Asn1): forge.asn1.Asn1 | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  try {
    return forge.asn1.fromDer(value)
  } catch {
    return undefined
  }
}
