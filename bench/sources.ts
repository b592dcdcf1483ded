import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A folder to be copied, made anew for each run. */
export interface Source {
  readonly name: string
  readonly make: (folder: string) => void
  /** Its copies are deleted one by one, so that the disk need not hold all of them: quick for a few files. */
  readonly isLarge?: boolean
}

const oneGiB = 2 ** 30
const blockBytes = 2 ** 20

function makeFiles(folder: string, folders: number, filesInEach: number, sizeBytes: number): void {
  for (let i = 0; i < folders; i++) {
    mkdirSync(join(folder, `${i}`), { recursive: true })
    for (let j = 0; j < filesInEach; j++) {
      writeFileSync(join(folder, `${i}`, `file-${j}`), Buffer.alloc(sizeBytes, `${i} ${j} `))
    }
  }
}

function makeLarge(folder: string): void {
  mkdirSync(folder)
  const block = Buffer.alloc(blockBytes)
  const file = openSync(join(folder, 'large'), 'w')
  for (let at = 0; at < oneGiB; at += block.length) writeSync(file, block.fill(`${at} `))
  closeSync(file)
}

export const sources = {
  small: { name: '10,000 × 4 KiB', make: (folder) => makeFiles(folder, 100, 100, 4_096) },
  crowded: { name: '10,000 × 4 KiB in 10 folders', make: (folder) => makeFiles(folder, 10, 1_000, 4_096) },
  empty: { name: '200,000 empty', make: (folder) => makeFiles(folder, 200, 1_000, 0) },
  large: { name: '1 GiB', make: makeLarge, isLarge: true },
} as const satisfies Record<string, Source>
