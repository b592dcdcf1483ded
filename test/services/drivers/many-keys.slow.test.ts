import { execFile } from 'node:child_process'
import { createServer, type RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { Mover } from '../../../services/engine/mover.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import { keysOfPage, listingDoubles } from '../../support/listing-doubles.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { localSpec } from '../engine/local-spec.ts'

/** GANTRY_KEYS=10000000 takes some minutes for each store. */
const keys = Number(process.env['GANTRY_KEYS'] ?? 1_000_000)
/** All names together take many times as much. */
const heapMiB = 48

const child = fileURLToPath(new URL('listing-child.ts', import.meta.url))
const doubles = listingDoubles(keys)

test.each(Object.entries(doubles))(
  `a folder of ${keys} keys of %s is listed in ${heapMiB} MiB`,
  async (_kind, { answer, spec }) => {
    const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(createServer(answer))
    try {
      const given = JSON.stringify(spec(`http://127.0.0.1:${port}`))
      const { stdout } = await promisify(execFile)(process.execPath, [
        `--max-old-space-size=${heapMiB}`,
        child,
        given,
      ])
      expect(JSON.parse(stdout)).toEqual({ entries: keys, isInOrder: true })
    } finally {
      await dispose()
    }
  },
  1_200_000,
)

test.each(Object.entries(doubles))(
  `two folders of ${keys} keys of %s are compared by listings alone, in the memory of a thread`,
  async (_kind, { answer, spec }) => {
    const asked = { listings: 0, others: 0 }
    const counting: RequestListener = (request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://double')
      const isListing = searchParams.has('list-type') || searchParams.has('maxResults')
      // The root is asked for itself as well.
      asked[isListing ? 'listings' : 'others']++
      answer(request, response)
    }
    await using double = await listenOnLoopback(createServer(counting))
    await using mover = new Mover({ threads: 1, log: { error: () => undefined } })
    const ends = spec(`http://127.0.0.1:${double.port}`)
    const move = { ...localSpec({ from: '', to: '' }), source: ends, target: ends }
    const counts = new Map<string, number>()
    await mover.compare(
      move,
      { level: 'size' },
      [encodeFolder({ path: Buffer.alloc(0), side: 'both' })],
      async (findings) => {
        for (const [name, more] of Object.entries(findings.counts))
          counts.set(name, (counts.get(name) ?? 0) + more)
      },
      new AbortController().signal,
    )
    expect(Object.fromEntries(counts)).toMatchObject({ filesOnSource: keys, filesOnTarget: keys })
    expect(asked.others).toBeLessThan(10)
    // Of both sides to compare them, of both for what only the target has, and what was held before that was too much.
    expect(asked.listings).toBeLessThan((5 * keys) / keysOfPage)
  },
  1_200_000,
)
