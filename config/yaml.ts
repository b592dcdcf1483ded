import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'

const load = createRequire(import.meta.url)

/** The package, once it is needed: nothing else waits for it. */
export const yaml = (): typeof Yaml =>
  // The type of a package that is loaded by its name is known to its author alone.
  load('yaml') as typeof Yaml

/** Where the value at a path stands in a document, or where what comes nearest to it does; from 1. */
export function placeIn(
  document: Yaml.Document.Parsed,
  lineCounter: Yaml.LineCounter,
  path: readonly (string | number)[],
): { readonly line: number; readonly column: number } | undefined {
  const { isNode } = yaml()
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
    if (!isNode(node) || !node.range) continue
    const { line, col: column } = lineCounter.linePos(node.range[0])
    return { line, column }
  }
  return undefined
}

/** `pub.allow[0]` → pub, allow, 0 */
export const pathOfField = (field: string): (string | number)[] =>
  [...field.matchAll(/[^.[\]]+/g)].map(([part]) => (/^\d+$/.test(part) ? Number(part) : part))
