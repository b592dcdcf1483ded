import { expect } from 'vitest'
import {
  type Driver,
  type Entry,
  type FailureClass,
  type FileAttributes,
  maxPageEntries,
  type PartBody,
  StoreError,
  type StorePath,
} from '../../services/drivers/contract/driver.ts'

/** What each part of the suite gets. Functions, since the store starts after the tests are declared. */
export interface Suite {
  readonly driver: () => Driver
  /** As of `StoreUnderTest`. */
  readonly losesAnswers: () => boolean
  /** See `StoreUnderTest`. */
  readonly refusedName: () => string | undefined
  /** On a root that does not exist. */
  readonly missing: () => Driver
  /** Another driver on the same store, closed with its scope. */
  readonly another: () => Driver & AsyncDisposable
  /** A folder of the test's own, made and empty. */
  readonly folder: () => Promise<TestFolder>
}

/** Paths below a folder, and what the tests ask of it. */
export interface TestFolder {
  readonly path: StorePath
  /** Path of something below the folder. */
  readonly at: (...segments: Segments) => StorePath
  /** All entries, checked to come in lawful batches. */
  readonly entries: (...segments: Segments) => Promise<Entry[]>
  /** Names of all entries, as latin1 so that no byte is lost, in byte order. */
  readonly names: (...segments: Segments) => Promise<string[]>
  readonly put: (
    name: string | Buffer,
    content: string | Buffer,
    attributes?: FileAttributes,
  ) => Promise<void>
  /** Content of a file, read at once. */
  readonly content: (...segments: Segments) => Promise<Buffer>
}

type Segments = (string | Buffer)[]

export const never = new AbortController().signal

export async function testFolder(driver: Driver, name: string): Promise<TestFolder> {
  const path = Buffer.from(name)
  await driver.makeFolder(path, {})
  const at = (...segments: Segments) => join(path, ...segments)
  const entries = (...segments: Segments) => listAll(driver, at(...segments))
  return {
    path,
    at,
    entries,
    names: async (...segments) =>
      (await entries(...segments)).map((entry) => entry.name.toString('latin1')).toSorted(),
    put: async (name, content, attributes = {}) => {
      await driver.put(at(name), Buffer.from(content), attributes)
    },
    content: (...segments) => contentOf(driver, at(...segments)),
  }
}

export const join = (...segments: Segments): StorePath =>
  Buffer.concat(segments.flatMap((segment, i) => [Buffer.from(i === 0 ? '' : '/'), Buffer.from(segment)]))

export async function listAll(driver: Driver, folder: StorePath): Promise<Entry[]> {
  const all: Entry[] = []
  for await (const { entries } of driver.list(folder, never)) {
    expect(entries.length).toBeGreaterThan(0)
    expect(entries.length).toBeLessThanOrEqual(maxPageEntries)
    all.push(...entries)
  }
  return all
}

export async function contentOf(driver: Driver, path: StorePath): Promise<Buffer> {
  const file = await driver.open(path)
  try {
    return Buffer.from(await file.read(0, file.sizeBytes))
  } finally {
    await file.close()
  }
}

/** A part that is in memory. */
export const bodyOf = (bytes: Buffer): PartBody => ({
  sizeBytes: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
})

/** The class of the StoreError that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<FailureClass> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  )
  if (!(error instanceof StoreError)) throw error
  expect(error.message).not.toBe('')
  return error.failure
}

/** Compares times as exactly as the store keeps them: equal to the microsecond, where it does not say otherwise. */
export function expectTime(
  driver: Driver,
  found: { readonly modifiedMs?: number } | undefined,
  wantedMs: number,
  message = '',
): void {
  const foundMs = found?.modifiedMs ?? NaN
  const { grainMs } = driver.capabilities.clock
  if (grainMs === undefined) expect(Math.round(foundMs * 1000), message).toBe(Math.round(wantedMs * 1000))
  else expect(Math.abs(foundMs - wantedMs), message).toBeLessThanOrEqual(grainMs)
}

/** Bytes that differ everywhere, so that a shift by any distance is seen. */
export function pattern(sizeBytes: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(sizeBytes)
  let state = seed
  for (let i = 0; i < sizeBytes; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}
