import { createRequire } from 'node:module'
import type { Socket } from 'node:net'

/**
 * Loaded into Azurite's process before its own code, which it ends together with its parent. Azurite's database looks for a
 * blob by account first, and so at every blob there is: with 20,000 of them a request takes ten times as long as with none.
 * Asked for the name first it uses its index of names. Answers are the same.
 */
interface Collection {
  findOne(query: Record<string, unknown>): unknown
}

// Whoever started it may be killed without a word. That this is heard must not keep it from ending in order.
process.stdin.resume().once('close', () => process.exit())
;(process.stdin as Socket).unref()

const requireFromAzurite = createRequire(import.meta.resolve('azurite/dist/src/blob/main.js'))
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the package has no types of its own
const { Collection } = requireFromAzurite('lokijs') as { Collection: { prototype: Collection } }
// oxlint-disable-next-line typescript/unbound-method -- it is called on the collection below
const { findOne } = Collection.prototype
Collection.prototype.findOne = function (this: Collection, query) {
  const { name, ...rest } = query
  return findOne.call(this, name === undefined ? rest : { name, ...rest })
}
