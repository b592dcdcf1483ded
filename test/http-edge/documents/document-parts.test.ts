import { expect, test } from 'vitest'
import { DocumentParts } from '../../../http-edge/documents/document-parts.ts'
import { TimeSlicer } from '../../../http-edge/server/time-slicer.ts'
import { endpointContract } from '../../../subjects/extensions/contract.ts'
import type { DocumentPart } from '../../../subjects/documents/incremental-document.ts'
import { contracts } from '../../../subjects/index.ts'
import { growingOpenApi, openApiPart } from '../../../subjects/documents/openapi.ts'

const endpoints = 10
const prefixes = Array.from({ length: 200 }, (_, index) => `load${index}`)
const registered = (revision = '1') => prefixes.map((prefix) => ({ prefix, revision }))

const contractsOf = (prefix: string) =>
  Array.from({ length: endpoints }, (_, index) =>
    endpointContract(prefix, { name: `echo${index}`, summary: 'What it was asked' }),
  )

/** Makes parts in slices that end with each endpoint, and notes what was made. */
function parts(maxBytes?: number) {
  const made: string[] = []
  const slices = new TimeSlicer(0)
  const all = new DocumentParts((prefix) => {
    made.push(prefix)
    return slices.run(openApiPart(prefix, contractsOf(prefix)))
  }, maxBytes)
  return { all, made }
}

const growing = growingOpenApi(contracts, { version: '1' })

const pathsOf = (some: readonly DocumentPart[]): string[] => {
  const text = Buffer.concat([...growing.with(some)]).toString()
  const { paths } = JSON.parse(text) as { paths: object }
  return Object.keys(paths)
}

test('the event loop turns between two endpoints, however many ask at once', async () => {
  const { all } = parts()
  let turns = 0
  const turn = () => {
    turns += 1
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  await Promise.all([all.of(registered()), all.of(registered()), parts().all.of(registered())])
  clearImmediate(next)
  expect(turns).toBeGreaterThanOrEqual(prefixes.length * endpoints)
})

test('one that registers anew is made anew, and nothing else', async () => {
  const { all, made } = parts()
  const before = await all.of(registered())
  expect(made).toEqual(prefixes)
  expect(pathsOf(before)).toHaveLength(pathsOf([]).length + prefixes.length * endpoints)
  made.length = 0
  const now = registered().map((one) => (one.prefix === 'load7' ? { ...one, revision: '2' } : one))
  await all.of([...now, { prefix: 'newcomer', revision: '1' }])
  expect(made).toEqual(['load7', 'newcomer'])
})

test('who sees less has less, of the same parts', async () => {
  const { all, made } = parts()
  await all.of(registered())
  made.length = 0
  const paths = pathsOf(await all.of([{ prefix: 'load3', revision: '1' }]))
  expect(paths).toHaveLength(pathsOf([]).length + endpoints)
  expect(paths.filter((path) => path.includes('load'))).toEqual(
    contractsOf('load3').map(({ http: [route] }) => route!.path),
  )
  expect(made).toEqual([])
})

test('no more is kept than the limit, and all are there anyway', async () => {
  const [one] = await parts().all.of([{ prefix: 'load0', revision: '1' }])
  const { all, made } = parts(one!.bytes * 50)
  expect(await all.of(registered())).toHaveLength(prefixes.length)
  made.length = 0
  await all.of(registered().slice(-40))
  expect(made).toEqual([])
  await all.of(registered().slice(0, 1))
  expect(made).toEqual(['load0'])
})

test('one that is gone is left out, and one that failed is tried again by the next', async () => {
  const answers = new Map<string, () => Promise<DocumentPart | undefined>>([
    ['gone', () => Promise.resolve(undefined)],
    ['broken', () => Promise.reject(new Error('lost'))],
  ])
  const slices = new TimeSlicer()
  const make = (prefix: string) => slices.run(openApiPart(prefix, contractsOf(prefix)))
  const all = new DocumentParts((prefix) => answers.get(prefix)?.() ?? make(prefix))
  const ask = (...some: string[]) => all.of(some.map((prefix) => ({ prefix, revision: '1' })))
  expect(await ask('load1', 'gone')).toHaveLength(1)
  await expect(ask('load1', 'broken')).rejects.toThrow('lost')
  answers.clear()
  expect(await ask('load1', 'broken', 'gone')).toHaveLength(3)
})
