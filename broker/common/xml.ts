import { SaxesParser } from 'saxes'

export interface Visitor {
  open?: (path: string) => void
  /** `text` is the element's own text, every character of it. */
  close: (path: string, text: string, attributes: Readonly<Record<string, string>>) => void
}

/** Elements in one another: answers of stores have six. Each deeper one has the names of all above it in its path. */
const maxDepth = 32
/** Elements in all: 50,000 blocks have four each, 5,000 blobs some twenty and their metadata. */
const maxElements = 1_000_000

/**
 * Visits the elements below the root; `path` is `/`-joined names without the root's. Throws an Error when it is not
 * well-formed, has too many elements for an answer of a store, or refers to entities of its own: these are not read.
 */
export function walkXml(xml: Buffer, visitor: Visitor): void {
  const parser = new SaxesParser()
  let count = 0
  const open: { path: string; text: string; attributes: Record<string, string> }[] = []
  parser.on('opentag', ({ name, attributes }) => {
    if (open.length >= maxDepth || ++count > maxElements)
      throw new Error(
        `more than ${open.length >= maxDepth ? `${maxDepth} levels of elements` : `${maxElements} elements`}`,
      )
    const parent = open.at(-1)
    const path = parent === undefined ? '' : `${parent.path}/${name}`
    open.push({ path, text: '', attributes })
    visitor.open?.(path)
  })
  parser.on('text', (text) => {
    const element = open.at(-1)
    if (element !== undefined) element.text += text
  })
  parser.on('closetag', () => {
    const element = open.pop()
    if (element !== undefined) visitor.close(element.path, element.text, element.attributes)
  })
  parser.on('error', (error) => {
    throw error
  })
  // Some services begin their answers with a byte order mark, which the decoder takes away.
  parser.write(new TextDecoder().decode(xml)).close()
}
