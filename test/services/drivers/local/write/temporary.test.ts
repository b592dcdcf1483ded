import { execFileSync } from 'node:child_process'
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { threadId } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { sweepTemporaryFiles } from '../../../../../services/drivers/local/write/temporary.ts'
import {
  isTemporaryName,
  maxTemporaryNameBytes,
  temporaryName,
} from '../../../../../services/drivers/paths/temporary-names.ts'
import { createFolder } from '../../../../support/migrations.ts'

const module = fileURLToPath(
  new URL('../../../../../services/drivers/paths/temporary-names.ts', import.meta.url),
)

/** A name made by a process that has ended since. */
function nameOfDeadWriter(tag: string): string {
  const script = `import { temporaryName } from ${JSON.stringify(module)}
    process.stdout.write(temporaryName(${JSON.stringify(tag)}))`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
}

/** The same with another host in it. */
const onOtherHost = (name: string) => name.replace(/~[0-9a-f]{8}\./, '~ffffffff.')

function sweep(folder: string, tag: string, liveThreads: number[] = []): string[] {
  const before = new Set(readdirSync(folder))
  const removed = sweepTemporaryFiles(Buffer.from(folder), tag, liveThreads)
  const left = new Set(readdirSync(folder))
  const gone = [...before].filter((name) => !left.has(name))
  expect(gone).toHaveLength(removed)
  return gone
}

test('names are ours beyond doubt, short enough, and never the same', () => {
  const names = Array.from({ length: 1_000 }, () => temporaryName('11111111-2222-3333-4444-555555555555'))
  expect(new Set(names.map(String)).size).toBe(names.length)
  expect(temporaryName('tag'.repeat(50)).length).toBeLessThanOrEqual(maxTemporaryNameBytes)
  for (const name of [...names, temporaryName('a/b~c d'), temporaryName('')])
    expect(isTemporaryName(name)).toBe(true)
  for (const name of ['.gantry', '.gantry~a', '.gantry~tag~x~1', `${String(names[0])}.txt`, 'file']) {
    expect(isTemporaryName(Buffer.from(name)), name).toBe(false)
  }
})

test('a sweep takes what dead writers of the tag left, and nothing else', () => {
  using folder = createFolder('store')
  const dead = nameOfDeadWriter('ours')
  const kept = [
    String(temporaryName('ours')),
    nameOfDeadWriter('theirs'),
    onOtherHost(nameOfDeadWriter('ours')),
    '.gantry~ours~file of the user~1',
    'file',
  ]
  for (const name of [dead, ...kept]) writeFileSync(join(folder.store, name), '')
  expect(sweep(folder.store, 'ours')).toEqual([dead])
})

test('threads of this process that have ended are dead writers', () => {
  using folder = createFolder('store')
  const ofThread = (thread: number) =>
    String(temporaryName('ours')).replace(`.${threadId.toString(36)}~`, `.${thread.toString(36)}~`)
  const [live, dead] = [ofThread(1001), ofThread(1002)]
  for (const name of [live, dead]) writeFileSync(join(folder.store, name), '')
  expect(sweep(folder.store, 'ours', [1001])).toEqual([dead])
})

test('on another host age decides', () => {
  using folder = createFolder('store')
  const [old, young] = [onOtherHost(nameOfDeadWriter('ours')), onOtherHost(nameOfDeadWriter('ours'))]
  for (const name of [old, young]) writeFileSync(join(folder.store, name), '')
  const hourAgo = Date.now() / 1_000 - 3_600
  utimesSync(join(folder.store, old), hourAgo, hourAgo)
  expect(sweep(folder.store, 'ours')).toEqual([old])
})

test('where there is no folder there is nothing to sweep', () => {
  using folder = createFolder('store')
  writeFileSync(join(folder.store, 'file'), '')
  for (const name of ['missing', 'file']) {
    expect(sweepTemporaryFiles(Buffer.from(join(folder.store, name)), 'ours', [])).toBe(0)
  }
})
