/** The moments, the victims and what is written follow from it. */
export const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Kills in all cases together. */
export const wantedKills = Number(process.env['CRASH_KILLS'] ?? 200)

/** Part of the kills that a case makes; Azurite is slow, and of metadata there is less that could be lost. */
const shares = {
  'one-time': 0.3,
  'one-time, with agents': 0.3,
  live: 0.3,
  'to Azure': 0.1,
  metadata: 0.1,
} as const
export type CaseName = keyof typeof shares

/** Kills of a case at least. */
export const killsOf = (name: CaseName): number => Math.ceil(wantedKills * shares[name])

/** Damages to the broker's store in all cases together. */
const wantedDamages = Number(process.env['CRASH_DAMAGES'] ?? 200)

/** Part of the damages that a case does. */
const damageShares = { queues: 0.5, records: 0.5 } as const

/** Damages of a case at least. */
export const damagesOf = (name: keyof typeof damageShares): number =>
  Math.ceil(wantedDamages * damageShares[name])

export const filesInTree = 20_000
