import { selection } from "./parts/selection.js"

// Joins the selection of the page's components to Python: draws nothing. data: {chosen, token}.
export default function ({ data, setTriggerValue }) {
  selection.connect((pick) => setTriggerValue("pick", pick))
  selection.receive(data.chosen, data.token)
}
