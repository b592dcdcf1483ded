import { expect, test } from 'vitest'
import { csvLine } from '../../../subjects/kit/csv.ts'

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '=cmd|"/c calc"!A1'])(
  'a text that a spreadsheet would run, %j, begins with an apostrophe',
  (value) => {
    expect(csvLine([value])).toBe(`"'${value.replaceAll('"', '""')}"\r\n`)
  },
)

test('numbers and other texts are as they are', () => {
  expect(csvLine([-1, 0, 2.5, '/a=b', "'", '', undefined, 'a,"b"\n', 'x-1'])).toBe(
    `"-1","0","2.5","/a=b","'","","","a,""b""\n","x-1"\r\n`,
  )
})
