import assert from "node:assert/strict"
import { test } from "node:test"
import { keptApart, leastName, namedAmong } from "../../viz_transformer/figures/components/parts/whole_names.js"

test("where there is room for all names each place has one", () => {
  assert.deepEqual([...namedAmong(4, 10, 10)], [0, 1, 2, 3])
  assert.deepEqual([...namedAmong(0, 10, 10)], [])
})

test("where there is not, names are as far apart as they are large, and the ones that are asked for come first", () => {
  assert.deepEqual([...namedAmong(7, 5, 10)], [0, 2, 4, 6])
  const named = [...namedAmong(9, 4, 10, [4, 5, 8])]
  assert.deepEqual(named, [4, 8, 0]) // 5 has no room beside 4
  assert.deepEqual([...namedAmong(3, 5, 10, [7, -1])], [0, 2]) // what is not there has no name
})

test("on a projector no name is lower than a 45th of the lowest window that it is made for", () => {
  assert.ok(leastName(1.4) >= 720 / 45)
  assert.equal(leastName(1), 9)
})

test("names that are there in any case stand apart, in their order and as near to their places as they can", () => {
  assert.deepEqual(keptApart([10, 40], 12, 0, 100), [10, 40])
  assert.deepEqual(keptApart([10, 15, 16], 12, 0, 100), [10, 22, 34])
  assert.deepEqual(keptApart([95, 98], 12, 0, 100), [88, 100])
  assert.deepEqual(keptApart([16, 10], 12, 0, 100), [22, 10]) // the strongest first, wherever it stands
  assert.deepEqual(keptApart([1, 2, 3], 12, 0, 10), [0, 12, 24]) // apart, where they have no room at all
  assert.deepEqual(keptApart([], 12, 0, 10), [])
})
