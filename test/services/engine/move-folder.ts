import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { Mover, type MoveSpec } from '../../../services/engine/mover.ts'
import { createFolder } from '../../support/migrations.ts'
import { walkTree } from '../../support/compare-trees.ts'
import { localSpec } from './local-spec.ts'
import { drive, type Driven, type DriveOptions } from './drive.ts'

/**
 * Folders to move between, and a mover with two threads; gone with the scope.
 * @param shared a mover of several tests, which is left: starting threads takes longer than most tests
 */
export function createMove(options: Partial<MoveSpec> = {}, shared?: Mover) {
  const folder = createFolder('from', 'to')
  const logged: object[] = []
  const mover = shared ?? new Mover({ threads: 2, log: { error: (fields) => logged.push(fields) } })
  const spec = localSpec(folder, options)
  return {
    from: folder.from,
    to: folder.to,
    root: folder.root,
    at: (...segments: string[]) => join(folder.root, ...segments),
    remove: (...segments: string[]) => rmSync(join(folder.root, ...segments), { recursive: true }),
    mover,
    spec,
    logged,
    run: (how: DriveOptions = {}, changes: Partial<MoveSpec> = {}): Promise<Driven> =>
      drive(mover, { ...spec, ...changes }, how),
    /** Names under construction that are left at the target. */
    leftovers: () =>
      [...walkTree(folder.to)]
        .map(({ path }) => path.toString('latin1'))
        .filter((path) => path.includes(`.gantry~${spec.id.slice(0, 4)}`)),
    [Symbol.asyncDispose]: async () => {
      if (shared === undefined) await mover.close()
      folder[Symbol.dispose]()
    },
  }
}

/** `createMove` with one mover for all tests of a file. */
export function sharedMoves(): (options?: Partial<MoveSpec>) => ReturnType<typeof createMove> {
  const mover = new Mover({ threads: 2, log: { error: () => undefined } })
  afterAll(() => mover.close())
  return (options = {}) => createMove(options, mover)
}
