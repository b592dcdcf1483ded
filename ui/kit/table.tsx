import { Group, Table as Plain, Text, TextInput, UnstyledButton } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  memo,
  type ReactNode,
  useCallback,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { Contract } from '../../subjects/kit/contract.ts'
import { mayCall } from '../data/calls.ts'
import { useSession } from '../data/session-context.ts'
import { countOf, countText } from './format.ts'
import { useTyped } from './use-param.ts'

export interface Column<T> {
  readonly label: string
  readonly cell: (row: T) => ReactNode
  /** What it is sorted by; a column without it is not. */
  readonly by?: (row: T) => string | number
  /** What its cells have buttons for: it is there for those who may call one of these. */
  readonly needs?: readonly Contract[]
  /** Share of the width beside that of the others; default 1. */
  readonly width?: number
}

/** Rows that are not in sight are not there; of each row's height until it is: that of a line of text. */
const usualRowPx = 37
const remOfColumn = 6.2
/** So many rows are drawn at once where they are cards. */
const maxFew = 50

/** Rows of a list: sorted, filtered and chosen where asked for; ten thousand of them scroll like ten. */
export function Table<T>({
  label,
  rows,
  isPartial = false,
  columns: all,
  idOf,
  searchedIn,
  filters,
  chosen,
  onChoose,
}: {
  readonly label: string
  readonly rows: readonly T[]
  /** Whether more rows are on their way. */
  readonly isPartial?: boolean
  readonly columns: readonly Column<T>[]
  readonly idOf: (row: T) => string
  /** Texts of a row that a filter looks in; without it there is no filter. */
  readonly searchedIn?: (row: T) => readonly string[]
  /** Beside the filter. */
  readonly filters?: ReactNode
  readonly chosen?: ReadonlySet<string>
  readonly onChoose?: (chosen: ReadonlySet<string>) => void
}) {
  const session = useSession()
  const columns = useMemo(
    () => all.filter(({ needs }) => needs === undefined || needs.some((one) => mayCall(session, one))),
    [all, session],
  )
  const [text, setText] = useTyped('filter')
  const wanted = useDeferredValue(text.toLowerCase())
  const [sort, setSort] = useState<{ label: string; isDown: boolean }>()
  const shown = useMemo(() => {
    const kept =
      searchedIn === undefined || wanted === ''
        ? rows
        : rows.filter((row) => searchedIn(row).some((word) => word.toLowerCase().includes(wanted)))
    const by = columns.find((column) => column.label === sort?.label)?.by
    if (by === undefined) return kept
    const sorted = kept.toSorted((one, other) => {
      const [a, b] = [by(one), by(other)]
      return a < b ? -1 : a > b ? 1 : 0
    })
    return sort!.isDown ? sorted.toReversed() : sorted
  }, [rows, columns, searchedIn, wanted, sort])

  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => usualRowPx,
    overscan: 5,
    useFlushSync: false,
    getItemKey: (index) => idOf(shown[index]!),
  })
  const inSight = virtual.getVirtualItems()
  const before = inSight[0]?.start ?? 0
  const after = virtual.getTotalSize() - (inSight.at(-1)?.end ?? 0)
  const total = columns.reduce((sum, { width = 1 }) => sum + width, 0)
  const chooseAll = (isChosen: boolean) => onChoose?.(new Set(isChosen ? shown.map(idOf) : []))
  const choosing = useRef({ chosen, onChoose })
  useLayoutEffect(() => {
    choosing.current = { chosen, onChoose }
  })
  // What is done to those that are chosen is done to rows that one sees.
  useEffect(() => {
    if (chosen === undefined || chosen.size === 0 || isPartial) return
    const there = new Set(shown.map(idOf))
    const kept = [...chosen].filter((id) => there.has(id))
    if (kept.length < chosen.size) onChoose?.(new Set(kept))
  }, [chosen, shown, isPartial, idOf, onChoose])
  const choose = useCallback((id: string, isChosen: boolean) => {
    const next = new Set(choosing.current.chosen)
    if (isChosen) next.add(id)
    else next.delete(id)
    choosing.current.onChoose?.(next)
  }, [])
  return (
    <>
      {(searchedIn || filters) && (
        <Group align="end" mb="sm">
          {searchedIn && (
            <TextInput
              label="Filter"
              type="search"
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
          )}
          {filters}
          <Text size="sm" role="status">
            {shown.length === rows.length
              ? countOf(rows.length, 'row')
              : `${countText(shown.length)} of ${countText(rows.length)}`}
            {isPartial && ' so far'}
          </Text>
        </Group>
      )}
      <div
        ref={box}
        className="rows"
        {...(shown.length <= maxFew && { 'data-few': true })}
        tabIndex={0}
        role="region"
        aria-label={`${label}, rows`}
        onKeyDown={(event) => {
          // The browser's own way there ends where rows turn out to be higher than others.
          if (event.key !== 'End' || event.target !== event.currentTarget) return
          event.preventDefault()
          virtual.scrollToIndex(shown.length - 1, { align: 'end' })
        }}
      >
        <Plain
          aria-label={label}
          // Said again, as rows are cards where there is no room for columns: then the browser forgets what they are.
          role="table"
          aria-rowcount={shown.length + 1}
          layout="fixed"
          miw={`${total * remOfColumn}rem`}
          stickyHeader
        >
          <colgroup>
            {chosen && <col style={{ width: '2.5rem' }} />}
            {columns.map(({ label: name, width = 1 }) => (
              <col key={name} style={{ width: `${(100 * width) / total}%` }} />
            ))}
          </colgroup>
          <Plain.Thead role="rowgroup">
            <Plain.Tr role="row">
              {chosen && (
                <Plain.Th role="columnheader">
                  <Choice
                    label="Select all"
                    isChosen={shown.length > 0 && shown.every((row) => chosen.has(idOf(row)))}
                    isPartly={chosen.size > 0 && chosen.size < shown.length}
                    onChoose={chooseAll}
                  />
                </Plain.Th>
              )}
              {columns.map(({ label: name, by }) => (
                <Plain.Th
                  key={name}
                  role="columnheader"
                  data-label={name}
                  {...(by && {
                    'aria-sort': sort?.label !== name ? 'none' : sort.isDown ? 'descending' : 'ascending',
                  })}
                >
                  {by === undefined ? (
                    name
                  ) : (
                    <UnstyledButton
                      fw={600}
                      fz="inherit"
                      onClick={() =>
                        setSort({ label: name, isDown: sort?.label === name ? !sort.isDown : false })
                      }
                    >
                      {name}
                      {sort?.label === name && (sort.isDown ? ' ↓' : ' ↑')}
                    </UnstyledButton>
                  )}
                </Plain.Th>
              ))}
            </Plain.Tr>
          </Plain.Thead>
          {/* A group without rows is none: they come once it is known how many fit. */}
          <Plain.Tbody {...(inSight.length > 0 && { role: 'rowgroup' })}>
            {before > 0 && <Gap height={before} />}
            {inSight.map(({ index, key }) => {
              const row = shown[index]!
              return (
                <Row
                  key={key}
                  row={row}
                  id={idOf(row)}
                  index={index}
                  columns={columns}
                  isChosen={chosen?.has(idOf(row))}
                  onChoose={choose}
                  measure={virtual.measureElement}
                />
              )
            })}
            {after > 0 && <Gap height={after} />}
          </Plain.Tbody>
        </Plain>
        {shown.length === 0 && rows.length > 0 && (
          <Text size="sm" p="xs">
            No row matches the filter.
          </Text>
        )}
      </div>
    </>
  )
}

/**
 * A row, drawn once while it stays what it is. Of plain elements: whoever scrolls sees hundreds a second, and each component
 * of the library costs as much as a row of these.
 */
const Row = memo(PlainRow) as typeof PlainRow

function PlainRow<T>({
  row,
  id,
  index,
  columns,
  isChosen,
  onChoose,
  measure,
}: {
  readonly row: T
  readonly id: string
  readonly index: number
  readonly columns: readonly Column<T>[]
  /** Undefined where rows are not chosen. */
  readonly isChosen: boolean | undefined
  readonly onChoose: (id: string, isChosen: boolean) => void
  readonly measure: (element: Element | null) => void
}) {
  return (
    <tr role="row" ref={measure} data-index={index} aria-rowindex={index + 2}>
      {isChosen !== undefined && (
        <td role="cell">
          <Choice label={`Select ${id}`} isChosen={isChosen} onChoose={(is) => onChoose(id, is)} />
        </td>
      )}
      {columns.map(({ label, cell }) => (
        <td key={label} role="cell" data-label={label}>
          {cell(row)}
        </td>
      ))}
    </tr>
  )
}

const Choice = ({
  label,
  isChosen,
  isPartly = false,
  onChoose,
}: {
  readonly label: string
  readonly isChosen: boolean
  readonly isPartly?: boolean
  readonly onChoose: (isChosen: boolean) => void
}) => (
  <input
    type="checkbox"
    aria-label={label}
    checked={isChosen}
    ref={(input) => {
      // No attribute says this.
      if (input !== null) input.indeterminate = isPartly
    }}
    onChange={(event) => onChoose(event.currentTarget.checked)}
  />
)

/** In the place of rows that are not in sight. */
const Gap = ({ height }: { readonly height: number }) => (
  <tr aria-hidden="true">
    <td style={{ height, padding: 0 }} />
  </tr>
)
