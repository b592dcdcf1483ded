import { mkdirSync, utimesSync } from 'node:fs'
import { expect, test } from 'vitest'
import { textFromPath } from '../../../services/drivers/paths/path-text.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { setExtended, whyNoExtended } from '../../support/extended.ts'
import { makeTree } from '../../support/tree.ts'
import { sharedMoves } from './move-folder.ts'
import { sharedTargets } from './targets.ts'

const createMove = sharedMoves()
const { createContainer } = sharedTargets()

const hasExtended = whyNoExtended() === undefined

test(
  'to Azure and back: what arrived is the same, what could not is listed',
  { timeout: 120_000 },
  async () => {
    const { spec: azure } = await createContainer()
    await using move = createMove()
    makeTree(move.from, { seed: 9, files: 400, largeBytes: 40_000_000 })
    if (hasExtended) setExtended(move.at('from', 'sizes', '17'), { 'user.x': 'x' })
    // As builds and archives set it.
    for (const path of ['sizes/17', 'sizes']) utimesSync(move.at('from', path), 0, 0)
    const metadata = { modes: true, owners: true, attributes: hasExtended }
    const there = await move.run({}, { target: azure, metadata })
    const refused = new Set(there.failures.map(({ path }) => path))
    for (const { failure, message } of there.failures) {
      expect(['name', 'unsupported']).toContain(failure)
      expect(message).toMatch(/^target: /)
    }
    const back = move.at('back')
    mkdirSync(back)
    const again = await move.run({}, { source: azure, target: { kind: 'local', options: { fsRoot: back } } })
    expect(again.failures).toEqual([])
    expect(again.counts.filesScanned).toBe(there.counts.filesMigrated)
    const isRefused = (path: Buffer) => {
      const segments = textFromPath(path).split('/')
      return segments.some((_, i) => refused.has(segments.slice(0, i + 1).join('/')))
    }
    // Times of folders, owners and modes as well.
    expect(compareTrees(move.from, back, isRefused)).toEqual([])
    const links = there.failures.filter(({ message }) => message.includes('symbolic links'))
    expect(there.counts.linksNotKept).toBe(links.length)
    expect(there.counts).toMatchObject({
      timesNotKept: 0,
      modesNotKept: 0,
      ownersNotKept: 0,
      hardLinksSplit: 2,
    })

    const skipped = await move.run({}, { target: azure, policy: 'SkipIfSizeMatch' })
    expect(skipped.counts).toMatchObject({ filesMigrated: 0, filesSkipped: there.counts.filesMigrated })
  },
)
