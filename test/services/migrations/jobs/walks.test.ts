import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verificationReports } from '../../../../subjects/migrations/model/verification-terms.ts'
import { ReportStore } from '../../../../services/jobs/reports.ts'
import { FolderStack } from '../../../../services/engine/walk/folder-stack.ts'
import { walkAll } from '../../../../services/engine/walk/walk-all.ts'
import { createFolder } from '../../../support/migrations.ts'
import { testUnless } from '../../../support/unless.ts'

const noFindings = { lines: {}, counts: {} }
const forever = new AbortController().signal

test('a stack of folders gives back each once, whatever does not fit into memory, and leaves no file', () => {
  using folder = createFolder('spill')
  using stack = new FolderStack(folder.spill)
  const count = 130_000
  for (let at = 0; at < count; at += 1_000)
    stack.push(Array.from({ length: 1_000 }, (_, i) => `"ü${at + i}"`))
  expect(readdirSync(folder.spill)).toEqual([])
  const seen = new Set<string>()
  while (!stack.isEmpty) {
    for (const one of stack.take(700)) seen.add(one)
    // What comes in between is on top.
    if (seen.size === 700) stack.push(['"late"'])
  }
  expect(seen.size).toBe(count + 1)
})

test('a walk goes everywhere once, with all its lanes', async () => {
  using folder = createFolder('spill')
  const walked: string[] = []
  let atOnce = 0
  let most = 0
  await walkAll({
    start: [''],
    atOnce: 3,
    spillFolder: folder.spill,
    step: async (folders, take) => {
      most = Math.max(most, ++atOnce)
      for (const path of folders) {
        walked.push(path)
        const folders = path.length < 4 ? ['a', 'b', 'c'].map((name) => path + name) : []
        await take({ ...noFindings, folders })
      }
      await new Promise((resolve) => setImmediate(resolve))
      atOnce--
    },
    take: async () => undefined,
    signal: forever,
  })
  expect(new Set(walked).size).toBe(1 + 3 + 9 + 27 + 81)
  expect(walked).toHaveLength(121)
  expect(most).toBe(3)
})

test('a walk ends with the first failure, and when it is told to', async () => {
  using folder = createFolder('spill')
  const options = { start: ['x'], atOnce: 2, spillFolder: folder.spill, take: async () => undefined }
  const failing = walkAll({
    ...options,
    step: () => Promise.reject(new Error('the thread has ended')),
    signal: forever,
  })
  await expect(failing).rejects.toThrow('the thread has ended')
  const cancel = new AbortController()
  const cancelled = walkAll({
    ...options,
    step: async (_, __, signal) => {
      cancel.abort(new Error('enough'))
      signal.throwIfAborted()
    },
    signal: cancel.signal,
  })
  await expect(cancelled).rejects.toThrow('enough')
})

test('reports are bounded: what comes after a full one is counted, and the oldest make room', async () => {
  using folder = createFolder('reports')
  const store = new ReportStore(join(folder.reports, 'below'), verificationReports, {
    maxFileBytes: 100,
    maxBytes: 250,
  })
  const line = `${'x'.repeat(39)}\n`
  for (const id of ['first', 'second', 'third']) {
    const writer = await store.write(id)
    for (let count = 0; count < 4; count++) await writer.append({ 'full.jsonl': line + line })
    expect(writer.leftOut).toBe(6)
    const files = await writer.close()
    expect(files.find(({ type }) => type === 'FULL')).toMatchObject({ sizeBytes: 80 })
    await writer.summarise({ id })
  }
  expect(await store.read('first', 'FULL', 0)).toMatchObject({
    type: 'application/jsonl',
    content: line + line,
  })
  expect(await store.read('first', 'FULL', 40)).toMatchObject({ content: line })
  const parts: string[] = []
  for (let from: number | undefined = 0; from !== undefined;) {
    const part = await store.archive('first', from)
    parts.push(part!.content)
    from = part!.next
  }
  writeFileSync(join(folder.reports, 'all.tar'), parts.join(''))
  execFileSync('tar', ['-xf', 'all.tar'], { cwd: folder.reports })
  expect(readFileSync(join(folder.reports, 'first', 'full.jsonl'), 'utf8')).toBe(line + line)
  expect(readFileSync(join(folder.reports, 'first', 'discrepancies.csv'), 'utf8')).toBe('')
  expect(readFileSync(join(folder.reports, 'first', 'summary.json'), 'utf8')).toBe('{\n  "id": "first"\n}\n')
  expect(await store.archive('nothing', 0)).toBeUndefined()
  expect(store.makeRoom(['first', 'second', 'third'])).not.toEqual([])
  expect(await store.read('first', 'FULL', 0)).toBeUndefined()
  expect(await store.read('third', 'SUMMARY', 0)).toMatchObject({ content: '{\n  "id": "third"\n}\n' })
})

/** Files below a folder that this process has open. */
const openFilesIn = (folder: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(`${folder}/`) ? [path] : []
    } catch {
      // It was closed meanwhile, such as that of this listing.
      return []
    }
  })

testUnless(
  process.platform === 'linux' ? undefined : 'only Linux shows what a process has open',
  'reports that cannot be begun leave no file open, and those of before as they were',
  async () => {
    using folder = createFolder('reports')
    const store = new ReportStore(folder.reports, verificationReports)
    const first = await store.write('job')
    await first.append({ [verificationReports.FULL.file]: 'one\ntwo\n' })
    await first.close()
    const before = readdirSync(join(folder.reports, 'job')).toSorted()
    const full = () => readFileSync(join(folder.reports, 'job', verificationReports.FULL.file), 'utf8')
    const failing = store.write('job', (line) => {
      if (line === 'two') throw new Error('a line that cannot be read')
      return { [verificationReports.FULL.file]: `${line}\n` }
    })
    await expect(failing).rejects.toThrow('a line that cannot be read')
    expect(openFilesIn(folder.reports)).toEqual([])
    expect(readdirSync(join(folder.reports, 'job')).toSorted()).toEqual(before)
    expect(full()).toContain('one\ntwo\n')
    // Where one of them cannot be made, the others are closed.
    const files = Object.values(verificationReports).map(({ file }) => file)
    mkdirSync(join(folder.reports, 'other', `${files[1]}.next`), { recursive: true })
    await expect(store.write('other')).rejects.toThrow('EISDIR')
    expect(openFilesIn(folder.reports)).toEqual([])
    // So it is where one of before cannot be replaced.
    mkdirSync(join(folder.reports, 'third', files[0]!, 'in the way'), { recursive: true })
    await expect(store.write('third')).rejects.toThrow()
    expect(openFilesIn(folder.reports)).toEqual([])
  },
)
