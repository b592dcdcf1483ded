import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A folder to be copied, made anew for each run. */
export interface Source {
  readonly name: string
  readonly fileCount: number
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

function makeLarge(folder: string, sizeBytes: number, count: number): void {
  mkdirSync(folder)
  const block = Buffer.alloc(blockBytes)
  for (let index = 0; index < count; index++) {
    const file = openSync(join(folder, `large-${index}`), 'w')
    for (let at = 0; at < sizeBytes; at += block.length) writeSync(file, block.fill(`${index} ${at} `))
    closeSync(file)
  }
}

/** So many folders in each, down to a depth, and nothing else. */
function makeFolders(folder: string, width: number, depth: number): void {
  mkdirSync(folder)
  if (depth > 0) for (let i = 0; i < width; i++) makeFolders(join(folder, `${i}`), width, depth - 1)
}

/** Files of one size, the same number in each folder. */
const equal = (folders: number, filesInEach: number, sizeBytes: number) => ({
  fileCount: folders * filesInEach,
  make: (folder: string) => makeFiles(folder, folders, filesInEach, sizeBytes),
})

const large = (sizeBytes: number, fileCount = 1) => ({
  fileCount,
  make: (folder: string) => makeLarge(folder, sizeBytes, fileCount),
  isLarge: true,
})

export const sources = {
  small: { name: '10,000 × 4 KiB', ...equal(100, 100, 4_096) },
  crowded: { name: '10,000 × 4 KiB in 10 folders', ...equal(10, 1_000, 4_096) },
  objects: { name: '5,000 × 4 KiB', ...equal(50, 100, 4_096) },
  manyObjects: { name: '40,000 × 4 KiB', ...equal(400, 100, 4_096) },
  fewObjects: { name: '1,000 × 4 KiB', ...equal(10, 100, 4_096) },
  empty: { name: '200,000 empty', ...equal(200, 1_000, 0) },
  million: { name: '1,000,000 empty in 1,000 folders', ...equal(1_000, 1_000, 0) },
  millionInOne: { name: '1,000,000 empty in one folder', ...equal(1, 1_000_000, 0) },
  folders: { name: '1,000,000 folders', fileCount: 1_000_000, make: (folder) => makeFolders(folder, 100, 3) },
  large: { name: '1 GiB', ...large(oneGiB) },
  fourLarge: { name: '4 × 1 GiB', ...large(oneGiB, 4) },
  quarter: { name: '256 MiB', ...large(oneGiB / 4) },
} as const satisfies Record<string, Source>
