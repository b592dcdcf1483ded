import { expect, test } from 'vitest'
import { Assembly } from '../../../services/kit/assembly.ts'
import { part, service } from '../../../services/kit/part.ts'
import { logging } from '../../../subjects/observability/logging.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'

interface Needs {
  readonly seen: string[]
}

/** A part that says what happens to it. */
const told = <Name extends string>(name: Name) =>
  part({
    name,
    start: ({ seen }: Needs) => {
      seen.push(`start ${name}`)
      return {
        gives: { [name]: true } as Record<Name, true>,
        run: () => seen.push(`run ${name}`),
        halt: () => seen.push(`halt ${name}`),
        stop: () => seen.push(`stop ${name}`),
      }
    },
  })

const failing = (how: 'start' | 'halt') =>
  part({
    name: 'failing',
    start: () => {
      if (how === 'start') throw new Error('it does not start')
      return {
        halt: () => {
          throw new Error('it does not halt')
        },
      }
    },
  })

test('parts start in their order, and end in the reverse one', async () => {
  const seen: string[] = []
  const running = await new Assembly<Needs>().add(told('one')).add(told('two')).start({ seen })
  expect(running.known).toMatchObject({ one: true, two: true })
  await running.run()
  await running.halt()
  await running.stop()
  const order = [
    'start one',
    'start two',
    'run one',
    'run two',
    'halt two',
    'halt one',
    'stop two',
    'stop one',
  ]
  expect(seen).toEqual(order)
})

test('when a part cannot start, those before it are ended', async () => {
  const seen: string[] = []
  const assembly = new Assembly<Needs>().add(told('one')).add(failing('start')).add(told('two'))
  await expect(assembly.start({ seen })).rejects.toThrow('it does not start')
  expect(seen).toEqual(['start one', 'halt one', 'stop one'])
})

test('a part that cannot end keeps no other from ending', async () => {
  const seen: string[] = []
  const running = await new Assembly<Needs>().add(told('one')).add(failing('halt')).start({ seen })
  await expect(running.halt()).rejects.toThrow('it does not halt')
  expect(seen).toEqual(['start one', 'halt one'])
})

test('parts as one give what is picked, and have the health and the handlers of all', async () => {
  const healthy = { name: 'inner', healthy: true }
  const answering = service({
    name: 'answering',
    contracts: { logging },
    concurrency: { logging: 3 },
    start: (_: Needs, before) => ({
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nobody calls them
      handlers: { logging: {} as Handlers<typeof logging> },
      health: async () => [...(await before.health()), healthy],
    }),
  })
  const inner = new Assembly<Needs>()
    .add(told('kept'))
    .add(answering)
    .as('inner', ({ kept }) => ({ given: kept }))
  expect([inner.name, inner.contracts, inner.concurrency]).toEqual(['inner', { logging }, { logging: 3 }])
  const running = await new Assembly<Needs>().add(told('one')).add(inner).start({ seen: [] })
  expect(Object.keys(running.known)).toEqual(['seen', 'one', 'given'])
  expect(running.served).toMatchObject([{ contracts: logging, concurrency: 3 }])
  expect(await running.health()).toEqual([healthy])
})

test('the compiler refuses a part that stands before what it needs, and one that gives what is there', () => {
  const needy = part({
    name: 'needy',
    start: ({ seen }: Needs & { readonly one: true }) => ({ run: () => seen }),
  })
  // @ts-expect-error -- `one` comes after it
  expect(new Assembly<Needs>().add(needy).add(told('one')).parts).toHaveLength(2)
  // @ts-expect-error -- `one` is there already
  expect(new Assembly<Needs>().add(told('one')).add(told('one')).parts).toHaveLength(2)
})
