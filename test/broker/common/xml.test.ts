import { expect, test } from 'vitest'
import { walkXml } from '../../../broker/common/xml.ts'

const visited = (xml: string): string[] => {
  const paths: string[] = []
  walkXml(Buffer.from(xml), { close: (path, text) => paths.push(`${path} ${text}`) })
  return paths
}

test('visits the elements of an answer', () => {
  expect(visited('<a><b>1</b><c><d>2 &amp; 3</d></c></a>')).toEqual(['/b 1', '/c/d 2 & 3', '/c ', ' '])
})

test.each([
  ['levels of elements', '<a>'.repeat(20_000)],
  ['elements beside one another', `<a>${'<b/>'.repeat(1_000_001)}</a>`],
  ['an entity of its own', '<!DOCTYPE a [<!ENTITY e "e">]><a>&e;</a>'],
  ['an element without an end', '<a><b></a>'],
])('refuses %s', (_what, xml) => {
  expect(() => visited(xml)).toThrow(Error)
})

test('what is too deep is refused before its paths take memory', () => {
  let opened = 0
  const visitor = { open: () => void opened++, close: () => undefined }
  expect(() => walkXml(Buffer.from('<a>'.repeat(20_000)), visitor)).toThrow('more than 32 levels of elements')
  expect(opened).toBe(32)
})
