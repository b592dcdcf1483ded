/** The moments, the victims and what is written follow from it. */
export const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Kills in all cases together. */
export const wantedKills = Number(process.env['CRASH_KILLS'] ?? 200)

/** Part of the kills that a case makes; Azurite is slow. */
const shares = { 'one-time': 0.3, 'one-time, with agents': 0.3, live: 0.3, 'to Azure': 0.1 } as const
export type CaseName = keyof typeof shares

/** Kills of a case at least. */
export const killsOf = (name: CaseName): number => Math.ceil(wantedKills * shares[name])

export const filesInTree = 20_000
