import assert from "node:assert/strict"
import { test } from "node:test"
import {
  attentionAt,
  cellOf,
  placeAttention,
  rowIn,
} from "../../viz_transformer/figures/components/parts/whole_attention_places.js"
import {
  groupWays,
  headRows,
  layerAt,
  placeLayer,
  titleLine,
} from "../../viz_transformer/figures/components/parts/whole_layer_places.js"
import {
  dimensionIn,
  keyIn,
  placeWeight,
  workedOut,
} from "../../viz_transformer/figures/components/parts/whole_weight_places.js"

const ROOMS = [
  { width: 992, height: 370, z: 1 },
  { width: 650, height: 330, z: 1 },
  { width: 1240, height: 560, z: 1.4 },
]
const ALMOST = 1e-6
const near = (a, b, of = "") => assert.ok(Math.abs(a - b) < ALMOST, `${of} ${a} is not ${b}`)
const right = ({ x, width }) => x + width
const bottom = ({ y, height }) => y + height
const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2]
const isInside = (box, room) =>
  box.x >= -ALMOST && box.y >= -ALMOST && right(box) <= right(room) + ALMOST && bottom(box) <= bottom(room) + ALMOST
const isApart = (a, b) =>
  right(a) <= b.x + ALMOST || right(b) <= a.x + ALMOST || bottom(a) <= b.y + ALMOST || bottom(b) <= a.y + ALMOST

/** Boxes by name have a size, stand in their room, and none covers another. */
function areApart(boxes, room) {
  const all = Object.entries(boxes)
  for (const [name, box] of all) {
    assert.ok(box.width > 0 && box.height > 0, `${name} has no size in ${room.width} x ${room.height}`)
    assert.ok(isInside(box, { x: 0, y: 0, ...room }), `${name} is not inside ${room.width} x ${room.height}`)
  }
  all.forEach(([name, box], n) => {
    for (const [other, against] of all.slice(n + 1)) assert.ok(isApart(box, against), `${name} covers ${other}`)
  })
}

/** Every number of a picture, at twice the size. */
function doubled(value) {
  if (typeof value === "number") return 2 * value
  if (Array.isArray(value)) return value.map(doubled)
  if (value === null || typeof value !== "object") return value
  const counts = ["rows", "columns", "first", "count", "index", "part", "heads"]
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      counts.includes(key) && !Array.isArray(each) ? each : doubled(each),
    ]),
  )
}
/** The same numbers at the same places, but for rounding. */
function alike(a, b, of = "") {
  if (typeof a === "number") return near(a, b, of)
  if (a === null || typeof a !== "object") return assert.equal(a, b, of)
  assert.deepEqual(Object.keys(a), Object.keys(b))
  for (const key of Object.keys(a)) alike(a[key], b[key], `${of}.${key}`)
}

// ---- a layer

const LAYERS = ["self ffn", "self cross ffn"].map((names) => names.split(" ").map((part) => ({ layer: 0, part })))
const layers = ROOMS.flatMap((room) =>
  LAYERS.flatMap((parts) => [false, true].map((post) => ({ place: placeLayer({ ...room, parts, post }), room, post }))),
)
const COUNTS = [1, 4, 8, 12].flatMap((heads) => [1, 7, 48, 300].map((keys) => ({ heads, keys })))

test("everything of a layer stands in its room, and nothing covers anything else", () => {
  for (const { place, room } of layers) {
    const boxes = place.groups.flatMap(({ part: { part }, before, norm, read, content, out, total }) =>
      Object.entries({ before, norm, read, content, out, ...(total && { total }) }).map(([name, box]) => [
        `${name} of ${part}`,
        box,
      ]),
    )
    areApart({ ...Object.fromEntries(boxes), after: place.after }, room)
  }
})

test("sub-layers follow each other from the left to what goes on, an attention wider than a feed-forward", () => {
  for (const { place, room } of layers) {
    let x = 0
    for (const group of place.groups) {
      near(group.x, x)
      for (const name of ["before", "norm", "read", "content", "out"])
        assert.ok(group[name].x >= group.x - ALMOST && right(group[name]) <= right(group) + ALMOST, name)
      x = right(group)
    }
    near(place.after.x, x)
    near(right(place.after), room.width)
    const ffn = place.groups[place.groups.length - 1]
    assert.ok(place.groups.every((group) => group === ffn || group.width > ffn.width))
  }
})

test("a sub-layer is read from the top down: the stream, what it reads, what it does, what it adds", () => {
  for (const { place } of layers)
    for (const { before, read, content, out } of place.groups) {
      near(place.stream, before.y + before.height / 2)
      const parts = [before, read, content, out]
      for (let n = 1; n < parts.length; n++) assert.ok(bottom(parts[n - 1]) < parts[n].y)
      assert.ok(read.y - bottom(before) >= 30 * place.z) // for its name
      assert.ok(bottom(out) + 20 * place.z <= place.height) // for what it adds
      near(read.x, out.x)
    }
})

test("a sub-layer branches off below the stream that comes in, and adds behind all that it does", () => {
  for (const { place, post } of layers)
    for (const group of place.groups) {
      const { before, content, branch, plus, total, norm } = group
      assert.ok(branch > before.x && branch < right(before) && branch < content.x)
      assert.ok(plus > right(before) && plus > right(content) && plus < right(group))
      assert.equal(Boolean(total), post)
      if (post) assert.ok(total.x > plus && norm.x > plus && bottom(norm) < before.y)
      else assert.ok(bottom(norm) <= group.read.y && norm.y >= bottom(before))
    }
})

test("the title of a layer stands above all of it", () => {
  for (const { place } of layers)
    for (const { before, norm } of place.groups)
      for (const { y } of [before, norm]) assert.ok(titleLine(place) > 7 * place.z && titleLine(place) < y)
})

test("a layer in twice the room with letters of twice the size is the same picture", () => {
  for (const { place, room, post } of layers) {
    const parts = place.groups.map(({ part }) => part)
    const twice = placeLayer({ z: 2 * room.z, width: 2 * room.width, height: 2 * room.height, parts, post })
    alike(twice, doubled(place))
    near(titleLine(twice), 2 * titleLine(place))
    twice.groups.forEach(({ content }, n) => {
      for (const { heads, keys } of COUNTS)
        alike(headRows(content, heads, keys, twice.z), {
          ...doubled(headRows(place.groups[n].content, heads, keys, place.z)),
          keys,
        })
    })
  }
})

test("heads and keys stand in their sub-layer, the labels of the keys below them and above what is added", () => {
  for (const { place } of layers)
    for (const { content, out } of place.groups)
      for (const { heads, keys } of COUNTS) {
        const { x, y, row, cell, labels, below } = headRows(content, heads, keys, place.z)
        assert.ok(row > 0 && cell > 0 && below > 0)
        assert.ok(x >= content.x + 40 * place.z) // for the names of the heads
        assert.ok(x + keys * cell <= right(content) + ALMOST)
        assert.ok(y >= content.y && labels >= y + heads * row && labels + below <= out.y)
        assert.ok(row <= 56 * place.z + ALMOST && cell <= 40 * place.z + ALMOST)
      }
})

test("where a head and a key are drawn, they are found", () => {
  for (const { place } of layers)
    for (const group of place.groups.filter(({ part }) => part.part !== "ffn"))
      for (const { heads, keys } of COUNTS) {
        const rows = headRows(group.content, heads, keys, place.z)
        const found = (head, key) =>
          layerAt(place, rows.x + (key + 0.5) * rows.cell, rows.y + (head + 0.5) * rows.row, () => ({ heads, keys }))
        for (const head of [0, heads >> 1, heads - 1])
          for (const key of [0, keys >> 1, keys - 1]) assert.deepEqual(found(head, key), { group, head, key })
        const none = { group, head: null, key: null }
        assert.deepEqual(found(-1, 0), none)
        assert.deepEqual(found(heads, 0), none)
        assert.deepEqual(found(0, -1), none)
      }
})

test("behind the last key there is none, but its sub-layer is there", () => {
  const [{ place }] = layers
  const [group] = place.groups
  const rows = headRows(group.content, 4, 2, place.z)
  assert.deepEqual(
    layerAt(place, rows.x + 2.5 * rows.cell, rows.y + 1, () => ({ heads: 4, keys: 2 })),
    { group, head: null, key: null },
  )
})

test("a sub-layer is found wherever it is, a feed-forward without heads; beside all of them is nothing", () => {
  for (const { place, room } of layers) {
    const at = (x, y) => layerAt(place, x, y, () => null)
    for (const group of place.groups)
      for (const x of [group.x, group.x + group.width / 2, right(group) - 1])
        for (const y of [0, room.height / 2, room.height]) assert.deepEqual(at(x, y), { group, head: null, key: null })
    for (const [x, y] of [
      [-1, 100],
      [place.after.x + 1, 100],
      [10, -1],
      [10, room.height + 1],
    ])
      assert.equal(at(x, y), null)
  }
})

// ---- an attention

const GRIDS = ["query", "key", "scores", "mask", "weights", "value", "output"]
const attentions = ROOMS.flatMap((room) =>
  [
    { queries: 1, keys: 1, dimensions: 1, heads: 1 },
    { queries: 7, keys: 9, dimensions: 8, heads: 4 },
    { queries: 20, keys: 5, dimensions: 16, heads: 8 },
    { queries: 48, keys: 48, dimensions: 64, heads: 12 },
    { queries: 1024, keys: 1024, dimensions: 128, heads: 32 },
  ].map((counts) => ({ place: placeAttention({ ...room, ...counts }), room, counts })),
)

test("all matrices, labels and maps of an attention stand in its room, and nothing covers anything else", () => {
  for (const { place, room } of attentions) {
    const labels = ["queryLabels", "keyLabels"].map((name) => [
      name,
      { ...place[name], y: place.top, height: room.height - place.top },
    ])
    const grids = GRIDS.map((name) => [name, place[name]])
    const maps = place.heads.map((box, n) => [`map ${n}`, box])
    areApart(Object.fromEntries([...labels, ...grids, ...maps]), room)
    assert.ok(right(place.output) + 4 * room.z <= room.width + ALMOST) // for a ring around the last one
  }
})

test("an attention is computed from the left to the right, each sign between what it joins", () => {
  for (const { place } of attentions) {
    const { signs } = place
    assert.deepEqual(
      signs.map(({ text }) => text),
      ["·", "=", "", "→", "·", "="],
    )
    const sides = [
      ["query", "keyLabels"],
      ["key", "scores"],
      ["scores", "mask"],
      ["mask", "weights"],
      ["weights", "value"],
      ["value", "output"],
    ]
    sides.forEach(([from, to], n) => near(signs[n].x, (right(place[from]) + place[to].x) / 2, from))
    assert.ok(right(place.queryLabels) < place.query.x && right(place.keyLabels) < place.key.x)
    for (const { x } of signs.filter(({ text }) => text))
      assert.ok(GRIDS.every((name) => x - 6 * place.z > right(place[name]) || x + 6 * place.z < place[name].x))
  }
})

test("matrices have the shapes of the formula, and a query is one line through all of them", () => {
  for (const { place, counts } of attentions) {
    const { queries, keys, dimensions } = counts
    const shapes = {
      query: [queries, dimensions],
      key: [keys, dimensions],
      scores: [queries, keys],
      mask: [queries, keys],
      weights: [queries, keys],
      value: [keys, dimensions],
      output: [queries, dimensions],
    }
    for (const name of GRIDS) assert.deepEqual([place[name].rows, place[name].columns], shapes[name])
    for (const [first, others] of Object.entries({ query: ["scores", "mask", "weights", "output"], key: ["value"] }))
      for (const name of others)
        assert.deepEqual([place[name].y, place[name].height], [place[first].y, place[first].height])
    near(place.scores.width, place.weights.width)
  }
})

test("few tokens have cells of a readable size, no larger; many share the height", () => {
  for (const { place, room } of attentions)
    for (const name of GRIDS) {
      const { width, height } = cellOf(place[name], 0, 0)
      assert.ok(height <= 22 * room.z + ALMOST && width <= 34 * room.z + ALMOST)
      assert.ok(bottom(place[name]) <= room.height - 30 * room.z)
      if (place[name].rows === 1) near(height, 22 * room.z)
      if (place[name].rows > 40) near(bottom(place[name]), room.height - 34 * room.z)
    }
})

test("maps of all heads stand side by side over the matrices, square, with room for names", () => {
  for (const { place, room } of attentions)
    place.heads.forEach((box, n) => {
      near(box.width, box.height)
      assert.ok(place.names + 4 * room.z < box.y && place.names > 6 * room.z)
      assert.ok(bottom(box) + 40 * room.z < place.top)
      if (n) assert.ok(box.x - right(place.heads[n - 1]) >= 9 * room.z)
    })
})

test("an attention in twice the room with letters of twice the size is the same picture", () => {
  for (const { place, room, counts } of attentions) {
    const twice = placeAttention({ z: 2 * room.z, width: 2 * room.width, height: 2 * room.height, ...counts })
    alike(twice, doubled(place))
  }
})

test("cells tile their matrix, and a row is all of its cells", () => {
  const grid = { x: 10, y: 20, width: 60, height: 40, rows: 4, columns: 3 }
  assert.deepEqual(cellOf(grid, 0, 0), { x: 10, y: 20, width: 20, height: 10 })
  assert.deepEqual(cellOf(grid, 2, 1), { x: 30, y: 40, width: 20, height: 10 })
  assert.deepEqual(cellOf(grid, 3, 2), { x: 50, y: 50, width: 20, height: 10 })
  assert.deepEqual(rowIn(grid, 3), { x: 10, y: 50, width: 60, height: 10 })
})

test("where a cell or a map is drawn, it is found; beside them is nothing", () => {
  for (const { place, room } of attentions) {
    for (const grid of GRIDS) {
      const { rows, columns } = place[grid]
      for (const row of [0, rows >> 1, rows - 1])
        for (const column of [0, columns >> 1, columns - 1])
          assert.deepEqual(attentionAt(place, ...middle(cellOf(place[grid], row, column))), { grid, row, column })
      const [x, y] = middle(place[grid])
      assert.equal(attentionAt(place, x, bottom(place[grid]) + 1), null)
      assert.equal(attentionAt(place, place[grid].x - 1, y), null)
      assert.equal(attentionAt(place, right(place[grid]) + 1, y), null)
    }
    place.heads.forEach((box, head) => {
      assert.deepEqual(attentionAt(place, ...middle(box)), { head })
      assert.equal(attentionAt(place, right(box) + 1, box.y + 1), null)
    })
    for (const [x, y] of [
      [-1, place.top + 1],
      [room.width + 1, place.top + 1],
      [1, place.top - 1],
      [1, -1],
    ])
      assert.equal(attentionAt(place, x, y), null)
  }
})

// ---- a weight

const weights = ROOMS.flatMap((room) =>
  [1, 2, 8, 16, 17, 32, 40, 64, 128].flatMap((dimensions) =>
    [1, 9, 48, 300].map((keys) => ({
      place: placeWeight({ ...room, dimensions, keys }),
      room,
      dimensions,
      keys,
    })),
  ),
)

test("a weight is read from the top down and ends in its room", () => {
  for (const { place, room, keys } of weights) {
    const { z } = room
    const { blocks, row, sums, keys: line, last } = place
    const end = blocks[blocks.length - 1]
    const down = [0, blocks[0].y, end.y + 3 * row, sums, line.labels, line.scores, line.bars]
    down.push(line.bars + line.tall, line.shares, last, room.height)
    for (let n = 1; n < down.length; n++) assert.ok(down[n] > down[n - 1], `${n} of ${down}`)
    assert.ok(end.y + 3 * row <= (2 / 3) * room.height) // products leave room for what becomes of them
    assert.ok(line.labels - sums >= 30 * z && line.bars - line.scores >= 14 * z && last - line.shares >= 30 * z)
    assert.ok(last + 10 * z <= room.height)
    assert.ok(line.tall >= 12 * z && line.tall <= 150 * z)
    assert.ok(line.x >= 60 * z && line.cell > 0 && line.x + keys * line.cell <= room.width + ALMOST)
  }
})

test("blocks hold each dimension once and in order, within the width, none on another", () => {
  for (const { place, room, dimensions } of weights) {
    let next = 0
    place.blocks.forEach(({ x, y, width, first, count }, n) => {
      assert.equal(first, next)
      assert.ok(count > 0)
      next += count
      near(width, count * place.cell)
      assert.ok(x >= 60 * room.z && x + width <= room.width + ALMOST)
      if (n) assert.ok(y >= place.blocks[n - 1].y + 3 * place.row + 7 * room.z)
    })
    assert.equal(next, dimensions)
  }
})

test("numbers are written out where each has room, else all dimensions are one line", () => {
  for (const { place, room } of weights) {
    if (place.dense) assert.equal(place.blocks.length, 1)
    else assert.ok(place.cell >= 54 * room.z - ALMOST && place.row >= 15 * room.z - ALMOST)
    assert.ok(place.cell <= 80 * room.z && place.row <= 24 * room.z + ALMOST)
    const { signs, cell } = place.keys
    assert.ok(
      7.3 * room.z * signs <= cell - 2 * room.z + ALMOST && 7.3 * room.z * (signs + 1) > cell - 2 * room.z - ALMOST,
    )
  }
  const denseOf = (dimensions) => ROOMS.map((room) => placeWeight({ ...room, dimensions, keys: 9 }).dense)
  assert.deepEqual(denseOf(16), [false, false, false])
  assert.deepEqual(denseOf(128), [true, true, true])
})

test("blocks of more than one line are about equally long", () => {
  const { blocks } = placeWeight({ width: 992, height: 370, z: 1, dimensions: 32, keys: 9 })
  assert.deepEqual(
    blocks.map(({ first, count }) => [first, count]),
    [
      [0, 16],
      [16, 16],
    ],
  )
})

test("a weight in twice the room with letters of twice the size is the same picture", () => {
  for (const { place, room, dimensions, keys } of weights) {
    const twice = placeWeight({ z: 2 * room.z, width: 2 * room.width, height: 2 * room.height, dimensions, keys })
    const { signs } = place.keys // as many
    alike(twice, { ...doubled(place), keys: { ...doubled(place).keys, signs } })
  }
})

test("where a dimension is drawn, it is found, in each of its three rows; beside them is none", () => {
  for (const { place } of weights)
    for (const { x, y, width, first, count } of place.blocks) {
      for (let n = 0; n < count; n++)
        for (const line of [0, 1, 2])
          assert.equal(dimensionIn(place, x + (n + 0.5) * place.cell, y + (line + 0.5) * place.row), first + n)
      for (const [left, top] of [
        [x - 1, y + 1],
        [x + width + 1, y + 1],
        [x + 1, y - 1],
        [x + 1, y + 3 * place.row + 1],
      ])
        assert.equal(dimensionIn(place, left, top), null)
    }
})

test("where a key is drawn, it is found, from its name down to its weight; beside them is none", () => {
  for (const { place, room, keys } of weights) {
    const { x, cell, labels, scores, bars, tall, shares } = place.keys
    for (let n = 0; n < keys; n++)
      for (const y of [labels, scores + 7, bars + tall / 2, shares + 14 * room.z])
        assert.equal(keyIn(place, keys, x + (n + 0.5) * cell, y), n)
    for (const [left, top] of [
      [x - 1, bars],
      [x + keys * cell + 1, bars],
      [x + cell / 2, place.sums],
      [x + cell / 2, place.last],
    ])
      assert.equal(keyIn(place, keys, left, top), null)
    for (const { y } of place.blocks) assert.equal(keyIn(place, keys, x + cell / 2, y + 1), null)
  }
})

// e to the scores is 1, 3 and 4: of a sum of 8
const ROW = {
  query: Float32Array.from([1, 2, -1]),
  key: Float32Array.from([3, 0.5, 2]),
  scores: [0, Math.log(3), Math.log(4)],
  open: [1, 1, 1],
  at: 1,
}

test("a weight is computed as by hand: products, sum, and its share of e to all scores", () => {
  const found = workedOut(ROW)
  assert.deepEqual(found.products, [3, 1, -2])
  assert.equal(found.sum, 2)
  assert.equal(found.score, Math.log(3))
  assert.equal(found.most, Math.log(4))
  found.powers.forEach((power, k) => near(power, [0.25, 0.75, 1][k]))
  near(found.total, 2)
  near(found.share, 0.375)
  assert.equal(workedOut({ ...ROW, scores: ROW.scores.toReversed() }).most, Math.log(4))
  const shares = [0, 1, 2].map((at) => workedOut({ ...ROW, at }).share)
  shares.forEach((share, k) => near(share, [0.125, 0.375, 0.5][k]))
})

test("what is masked has no share, and is not the largest score", () => {
  const masked = { ...ROW, open: Float32Array.from([1, 1, 0]) }
  const found = workedOut(masked)
  assert.equal(found.most, Math.log(3))
  assert.equal(found.powers[2], 0)
  near(found.total, 4 / 3)
  near(found.share, 0.75)
  assert.equal(workedOut({ ...masked, at: 2 }).share, 0)
  assert.equal(workedOut({ ...masked, at: 2 }).score, Math.log(4)) // as recorded
  assert.deepEqual(workedOut({ ...ROW, open: [true, true, false] }), found)
})

test("a score that was filled where it is masked counts as nothing", () => {
  for (const fill of [-Infinity, -1e9, 1e9, Number.NaN])
    near(workedOut({ ...ROW, scores: [0, Math.log(3), fill], open: [1, 1, 0] }).share, 0.75)
})

test("of a row in which nothing may be read nothing has a share", () => {
  const { most, powers, total, share, sum } = workedOut({ ...ROW, open: [0, 0, 0] })
  assert.deepEqual([most, powers, total, share, sum], [-Infinity, [0, 0, 0], 0, Number.NaN, 2])
})

test("large scores do not overflow", () => {
  for (const offset of [1000, -1000]) {
    const scores = ROW.scores.map((score) => score + offset)
    near(workedOut({ ...ROW, scores }).share, 0.375)
  }
})

test("the ways of a sub-layer lead from the stream to what it reads and adds, and end on its plus", () => {
  const parts = ["self", "cross", "ffn"].map((part) => ({ layer: 0, part }))
  for (const room of ROOMS)
    for (const post of [false, true]) {
      const place = placeLayer({ ...room, parts, post })
      for (const group of place.groups) {
        const [past, into, up] = groupWays(group, place)
        assert.deepEqual(past[0], [group.branch, group.before.y + group.before.height])
        assert.deepEqual(into[0], [group.branch, group.read.y + group.read.height / 2])
        assert.ok(into[1][0] < group.read.x && past[2][0] < group.out.x)
        assert.equal(past[1][0], group.branch)
        assert.deepEqual(up[0], [group.out.x + group.out.width, past[1][1]])
        assert.deepEqual(up[2], [group.plus, place.stream + 9 * place.z])
        for (const way of [past, into, up])
          for (let n = 1; n < way.length; n++) assert.ok(way[n][0] === way[n - 1][0] || way[n][1] === way[n - 1][1])
      }
    }
})
