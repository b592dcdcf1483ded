import { Text, useComputedColorScheme } from '@mantine/core'
import type { ReactNode } from 'react'
import { localTime } from './format.ts'

export interface Series {
  readonly label: string
  readonly points: readonly (readonly [timeMs: number, value: number])[]
}

const width = 600
const height = 144
const left = 4
const bottom = 4
const colours = {
  light: ['#1864ab', '#a61e4d', '#2b8a3e', '#862e9c', '#c92a2a', '#0b7285', '#5f3dc4', '#d9480f'],
  dark: ['#74c0fc', '#faa2c1', '#8ce99a', '#e599f7', '#ffa8a8', '#66d9e8', '#b197fc', '#ffc078'],
}

/** As large as a chart, so that nothing moves when there is one. */
export const ChartSpace = ({ children }: { readonly children?: ReactNode }) => (
  <div className="chart">
    <div className="space">{children}</div>
  </div>
)

/** Lines of values over time. What they show is told in words as well. */
export function Chart({
  label,
  series,
  format,
  isStepped = false,
  span,
}: {
  readonly label: string
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** Of totals, which stay until they are told anew: what is between two points is not on its way from one to the other. */
  readonly isStepped?: boolean
  /** From when to when, where that is more than the points: charts side by side are of the same time. */
  readonly span?: readonly [fromMs: number, toMs: number]
}) {
  const scheme = useComputedColorScheme('light')
  const all = series.flatMap(({ points }) => points)
  if (all.length === 0)
    return (
      <ChartSpace>
        <Text size="sm">No data yet.</Text>
      </ChartSpace>
    )
  const times = [...all.map(([time]) => time), ...(span ?? [])]
  const [from, to] = [Math.min(...times), Math.max(...times)]
  const most = Math.max(...all.map(([, value]) => value))
  const x = (time: number) => (to === from ? width : left + ((width - left) * (time - from)) / (to - from))
  const y = (value: number) => (most === 0 ? height - bottom : (height - bottom) * (1 - value / most) + 2)
  const last = series.map(({ label: name, points }) => `${name}: ${format(points.at(-1)?.[1] ?? 0)}`)
  return (
    <figure className="chart">
      {/* Not in the picture, which is scaled with the window: they would be too small to read on a telephone. */}
      <div className="values" aria-hidden="true">
        <span>{format(most)}</span>
        <span>{most === 0 ? '' : format(most / 2)}</span>
        <span>{most === 0 ? '' : format(0)}</span>
      </div>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${label}, maximum ${format(most)}; ${last.join(', ')}`}
      >
        {[y(0), y(most / 2)].map((at) => (
          <line key={at} x1={left} x2={width} y1={at} y2={at} className="axis" />
        ))}
        {series.map(({ label: name, points }, index) => (
          <polyline
            key={name}
            points={points
              .map(([time, value], at) => {
                const before = isStepped ? points[at - 1] : undefined
                return `${before === undefined ? '' : `${x(time)},${y(before[1])} `}${x(time)},${y(value)}`
              })
              .join(' ')}
            stroke={colours[scheme][index % colours[scheme].length]}
            className="line"
          />
        ))}
      </svg>
      <div className="times" aria-hidden="true">
        <span>{localTime(new Date(from).toISOString())}</span>
        <span>{localTime(new Date(to).toISOString())}</span>
      </div>
      <figcaption>
        <span>{`${label}, maximum ${format(most)}.`}</span>
        {series.map(({ label: name }, index) => (
          <span key={name} className="legend">
            <span
              style={{ background: colours[scheme][index % colours[scheme].length] }}
              aria-hidden="true"
            />
            <bdi className="name">{last[index]}</bdi>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}
