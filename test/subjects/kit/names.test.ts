import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  eventSubject,
  inboxPrefix,
  roots,
  serviceSubject,
  subjectToken,
} from '../../../subjects/kit/names.ts'
import { ruleCovers } from '../../../subjects/kit/patterns.ts'

const halves = fc.array(fc.constantFrom('\ud800', '\ud801', '\udc00', 'a', '=ED'), { maxLength: 3 })
const wellFormed = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[=A-F0-9a-z]{0,8}$/))
/** JSON can carry half of a surrogate pair as well. */
const id = fc.oneof(
  wellFormed,
  halves.map((parts) => parts.join('')),
)

test('distinct ids have distinct tokens', () => {
  fc.assert(
    fc.property(id, id, (one, other) => (subjectToken(one) === subjectToken(other)) === (one === other)),
    { numRuns: 5_000 },
  )
})

test('an id can be read back from its token, so that no two ids share one', () => {
  fc.assert(
    fc.property(wellFormed, (text) => decodeURIComponent(subjectToken(text).replaceAll('=', '%')) === text),
    { numRuns: 5_000 },
  )
})

test('a token of a name is one token of a subject, and a key of a KV bucket', () => {
  fc.assert(
    fc.property(
      id.filter((text) => text !== ''),
      (text) => {
        const token = subjectToken(text)
        expect(token).toMatch(/^[A-Za-z0-9_=-]+$/)
        expect(ruleCovers(`${roots.events}.a.b.*`, eventSubject('a', 'b', token))).toBe(true)
      },
    ),
  )
})

test.each([
  ['nightly', 'nightly'],
  ['my_lake-2', 'my_lake-2'],
  ['a.b', 'a=2Eb'],
  ['a b', 'a=20b'],
  ['a=2Eb', 'a=3D2Eb'],
  ['*', '=2A'],
  ['>', '=3E'],
  ['ä', '=C3=A4'],
  ['\ud800', '=ED=A0=80'],
  ['', ''],
])('the token of %j is %j', (text, token) => {
  expect(subjectToken(text)).toBe(token)
})

test('no root lies within another, so that a permission for one gives nothing of another', () => {
  const all = Object.values(roots)
  const overlaps = all.flatMap((root) =>
    all.filter((other) => other !== root && ruleCovers(`${root}.>`, `${other}.>`)),
  )
  expect(overlaps).toEqual([])
})

test('subjects of services and of inboxes are under their roots', () => {
  expect(serviceSubject('keys', 'create')).toBe('gantry.services.v1.keys.create')
  expect(inboxPrefix('k1')).toBe('_INBOX.k1')
})
