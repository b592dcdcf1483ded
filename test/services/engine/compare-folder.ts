import { verificationReports } from '../../../subjects/migrations/model/verification-terms.ts'
import type { Comparison } from '../../../services/engine/walk/compare.ts'
import { encodeFolder, type WalkFolder } from '../../../services/engine/walk/walk-folder.ts'
import type { Mover, MoveSpec } from '../../../services/engine/mover.ts'

/** What a comparison of everything below a folder found. */
export interface Compared {
  readonly rows: { scanResult: string; sourcePath: string; targetPath: string; detail?: string }[]
  readonly counts: Record<string, number>
  /** Folders that were walked through. */
  readonly folders: number
}

/** Compares folder after folder until there are none left; the root, unless it is said where to begin. */
export async function compareAll(
  mover: Mover,
  spec: MoveSpec,
  comparison: Comparison,
  from: Partial<WalkFolder> = {},
): Promise<Compared> {
  const rows: Compared['rows'] = []
  const counts: Record<string, number> = {}
  const waiting = [encodeFolder({ path: Buffer.alloc(0), side: 'unknown', ...from })]
  let folders = 0
  while (waiting.length > 0) {
    const some = waiting.splice(0, 64)
    folders += some.length
    await mover.compare(
      spec,
      comparison,
      some,
      async (findings) => {
        waiting.push(...findings.folders)
        const text = findings.lines[verificationReports.FULL.file] ?? ''
        for (const line of text.split('\n').filter(Boolean)) rows.push(JSON.parse(line))
        for (const [name, more] of Object.entries(findings.counts)) counts[name] = (counts[name] ?? 0) + more
      },
      new AbortController().signal,
    )
  }
  return { rows, counts, folders }
}

/** The rows that are no match, as `result path`, in order. */
export const differences = ({ rows }: Compared): string[] =>
  rows
    .filter(({ scanResult }) => scanResult !== 'MATCH')
    .map(({ scanResult, sourcePath }) => `${scanResult} ${sourcePath}`)
    .toSorted()
