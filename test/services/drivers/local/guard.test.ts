import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { allow, AllowedView, createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { openDriver } from '../../../../services/drivers/index.ts'
import { LocalGuard } from '../../../../services/drivers/local/guard.ts'
import { StoreError } from '../../../../services/drivers/index.ts'
import { directCopy } from '../../../../services/engine/run/run.ts'
import { createFolder } from '../../../support/migrations.ts'
import { mountAgain, whyNoMount } from '../../../support/mounts.ts'
import { testUnless } from '../../../support/unless.ts'
import { createRun, untold } from '../../engine/runs.ts'

const own = (path: string) => ({ name: 'the configuration folder', path, fix: 'move it' })
const open = (fsRoot: string, bounds: ReturnType<typeof createBounds>) =>
  openDriver({ kind: 'local', options: { fsRoot } }, 'target', bounds)
const bytes = (text: string) => Buffer.from(text)
const never = new AbortController().signal

async function listed(driver: Awaited<ReturnType<typeof open>>, folder: string): Promise<string[]> {
  const names: string[] = []
  for await (const { entries } of driver.list(bytes(folder), never)) {
    names.push(...entries.map(({ name }) => name.toString()))
  }
  return names
}

test('a folder of Gantry that is moved into an open filesystem is neither listed nor written to', async () => {
  using folder = createFolder('own', 'store')
  writeFileSync(join(folder.own, 'credentials'), 'secret')
  const driver = await open(folder.store, createBounds([own(folder.own)]))
  renameSync(folder.own, join(folder.store, 'moved'))
  expect(await listed(driver, '')).toEqual(['moved'])
  const refused = { failure: 'permission', message: expect.stringContaining('a folder of Gantry itself') }
  await expect(listed(driver, 'moved')).rejects.toMatchObject(refused)
  await expect(driver.makeFolder(bytes('moved'), { mode: 0o755 })).rejects.toMatchObject(refused)
})

testUnless(whyNoMount(), 'nor is one that is mounted into it', async () => {
  using folder = createFolder('own', 'store', 'store/at')
  const driver = await open(folder.store, createBounds([own(folder.own)]))
  using _mounted = mountAgain(folder.own, folder['store/at'])
  await expect(listed(driver, 'at')).rejects.toBeInstanceOf(StoreError)
})

test('a root is checked again at once when its path leads elsewhere', () => {
  using folder = createFolder('own', 'data')
  const link = join(folder.data, 'link')
  mkdirSync(join(folder.data, 'inner'))
  mkdirSync(join(folder.own, 'inner'))
  symlinkSync(join(folder.data, 'inner'), link)
  const guard = new LocalGuard(bytes(link), createBounds([own(folder.own)]))
  guard.requireRoot()
  rmSync(link)
  symlinkSync(join(folder.own, 'inner'), link)
  expect(() => guard.requireRoot()).toThrow('is in the configuration folder')
})

test('an open filesystem whose path is turned to a folder of Gantry does not follow it there', async () => {
  using folder = createFolder('own', 'own/journal', 'data', 'data/real', 'data/real/journal')
  for (const at of [folder.own, folder['own/journal']]) writeFileSync(join(at, 'credentials'), 'secret')
  const link = join(folder.data, 'link')
  symlinkSync(folder['data/real'], link)
  const driver = await open(link, createBounds([own(folder.own)]))
  const confined = driver.confinedTo!({ below: [bytes('')], links: 'refused' })
  const copies = () => directCopy(createRun(confined, confined))!
  const copy = (copier: ReturnType<typeof copies>, path: string) =>
    copier.folder(bytes(path), bytes(path), untold)[Symbol.dispose]()
  const before = copies()
  copy(before, '')
  await driver.put(bytes('file'), bytes('ours'), {})
  rmSync(link)
  symlinkSync(folder.own, link)
  await new Promise(setImmediate)
  const refused = { failure: 'permission', message: expect.stringContaining('is the configuration folder') }
  for (const one of [driver, confined]) {
    await expect(one.open(bytes('credentials'))).rejects.toMatchObject(refused)
    await expect(one.open(bytes('journal/credentials'))).rejects.toMatchObject(refused)
    await expect(one.put(bytes('new'), bytes('theirs'), {})).rejects.toMatchObject(refused)
    await expect(listed(one, 'journal')).rejects.toMatchObject(refused)
  }
  for (const copier of [before, copies()]) {
    for (const path of ['', 'journal']) expect(() => copy(copier, path)).toThrow('the configuration folder')
  }
  expect(readdirSync(folder.own).toSorted()).toEqual(['credentials', 'journal'])
})

test('nor out of the folders that administrators allow', async () => {
  using folder = createFolder('outside', 'data', 'data/real')
  writeFileSync(join(folder.outside, 'file'), 'theirs')
  const link = join(folder.data, 'link')
  symlinkSync(folder['data/real'], link)
  const driver = await open(link, createBounds([], { roots: [folder.data], hosts: [] }))
  rmSync(link)
  symlinkSync(folder.outside, link)
  const refused = { failure: 'permission', message: expect.stringContaining('is in none of the folders') }
  await expect(driver.open(bytes('file'))).rejects.toMatchObject(refused)
})

test('names beside those of a folder are not in it', () => {
  using folder = createFolder('own', 'own-data', 'data')
  const bounds = createBounds([own(folder.own), own(join(folder.data, 'not', 'there'))])
  new LocalGuard(bytes(folder['own-data']), bounds).requireRoot()
  expect(() => new LocalGuard(bytes(folder.data), bounds).requireRoot()).toThrow('contains the configuration')
})

test('a folder with a file of a secret is no root', async () => {
  using folder = createFolder('secrets', 'data')
  const path = join(folder.secrets, 'password')
  writeFileSync(path, 'secret')
  const bounds = createBounds([{ ...own(path), name: 'the password file' }])
  await expect(open(folder.secrets, bounds)).rejects.toThrow('contains the password file of Gantry')
  await open(folder.data, bounds)
})

test('other threads see at once what is allowed, however much it is', async () => {
  const bounds = createBounds([])
  const worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads')
     import(workerData.module).then(({ AllowedView }) => {
       const view = new AllowedView(workerData.bounds)
       parentPort.on('message', () => parentPort.postMessage(view.allowed))
       parentPort.postMessage('ready')
     })`,
    {
      eval: true,
      execArgv: [],
      workerData: {
        bounds,
        module: new URL('../../../../services/drivers/contract/bounds.ts', import.meta.url).href,
      },
    },
  )
  await once(worker, 'message')
  const asked = async () => {
    const answer = once(worker, 'message')
    worker.postMessage('', [])
    return (await answer)[0] as unknown
  }
  expect(await asked()).toEqual({ hosts: [] })
  for (const length of [3, 12_000, 0]) {
    const allowed = { roots: Array.from({ length: 100 }, () => `/${'ü'.repeat(length)}`), hosts: ['x'] }
    allow(bounds, allowed)
    expect(await asked()).toEqual(allowed)
    expect(new AllowedView(bounds).allowed).toEqual(allowed)
  }
  await worker.terminate()
})
