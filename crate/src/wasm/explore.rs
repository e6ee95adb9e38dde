//! What the explorer asks of the session: the chosen allocations as stacks, as a table, and the
//! steps.

use super::convert::{object, plain};
use super::session::Session;
use crate::findings::{Device, Findings};
use crate::snapshot::Snapshot;
use crate::timeline::allocation::AllocationId;
use crate::view::allocations::Table;
use crate::view::allocations::question::Question;
use crate::view::selection::Selection;
use crate::view::stacks::icicle::Icicle;
use crate::view::stacks::reading::{Crumb, NodeReading, TreeRow, crumbs, has_frames, rows};
use crate::view::stacks::tree::{StackTree, TreeShape};
use crate::view::steps::{self, NO_STEPS, StepRow, StepsPicture};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

/// What was worked out for the latest selection.
#[derive(Default)]
pub(super) struct Explored {
    /// The device, the selection, and what it chooses.
    chosen: Option<(u32, Selection, Vec<AllocationId>)>,
    /// Their tree, with its shape.
    tree: Option<(TreeShape, StackTree)>,
    /// Their table, with what was asked of it.
    table: Option<(Question, Table)>,
    /// The steps of a device.
    steps: Option<(u32, Vec<StepRow>)>,
}

impl Explored {
    /// The allocations that a selection chooses; what was worked out for another one is let go.
    fn choose(&mut self, snapshot: &Snapshot, found: &Device, selection: Selection) {
        let device = found.timeline.device;
        let is_known =
            matches!(&self.chosen, Some((of, known, _)) if *of == device && *known == selection);
        if !is_known {
            let allocations = selection.allocations(snapshot, found);
            let chosen = Some((device, selection, allocations));
            *self = Explored { chosen, tree: None, table: None, steps: self.steps.take() };
        }
    }

    fn allocations(&self) -> &[AllocationId] {
        self.chosen.as_ref().map_or(&[], |(.., allocations)| allocations)
    }
}

/// The head of an icicle, for the page.
#[derive(Serialize)]
struct StacksHead {
    bytes: u64,
    count: u64,
    has_frames: bool,
    crumbs: Vec<Crumb>,
    rows: Vec<TreeRow>,
}

#[wasm_bindgen]
impl Session {
    /// The stacks of a selection from the node `root` of their tree on, `widthPx` pixels wide:
    /// `{head, icicle}` and a column of each of its cells; `null` before a file is open. Nodes are
    /// numbers of the tree of this selection and shape.
    ///
    /// # Errors
    /// A JavaScript error where the selection or the shape is not of the page's form.
    pub fn stacks(
        &mut self,
        device: u32,
        selection: JsValue,
        shape: JsValue,
        root: u32,
        width_px: u32,
    ) -> Result<JsValue, JsValue> {
        let selection: Selection = from_js(selection)?;
        let shape: TreeShape = from_js(shape)?;
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let Some(found) = findings.device(device) else { return Ok(JsValue::NULL) };
        let text = selection.text.clone();
        self.explored.choose(snapshot, found, selection);
        let known = self.explored.tree.take().filter(|(of, _)| *of == shape);
        let tree = known.map(|(_, tree)| tree).unwrap_or_else(|| {
            let allocations = self.explored.allocations();
            StackTree::of(snapshot, &findings.kinds, found, allocations, shape)
        });
        let icicle = Icicle::of(snapshot, &findings.kinds, &tree, root, width_px, &text);
        let value = stacks_value(snapshot, &tree, root, &icicle)?;
        self.explored.tree = Some((shape, tree));
        Ok(value)
    }

    /// A node of the latest tree, or `nodes` neighbours from it on; `null` where it has none such.
    ///
    /// # Errors
    /// None that a caller could mend.
    #[wasm_bindgen(js_name = stackNode)]
    pub fn stack_node(&self, node: u32, nodes: u32) -> Result<JsValue, JsValue> {
        let (Some((snapshot, Findings { kinds, .. }, _)), Some((_, tree))) =
            (&self.opened, &self.explored.tree)
        else {
            return Ok(JsValue::NULL);
        };
        let reading = NodeReading::of(snapshot, kinds, tree, node, nodes);
        reading.map_or(Ok(JsValue::NULL), |reading| plain(&reading))
    }

    /// Filters and sorts the allocations of a selection: `{count, bytes, of_count, has_clock,
    /// streams, pools, problem}`; `null` before a file is open.
    ///
    /// # Errors
    /// A JavaScript error where the selection or the question is not of the page's form.
    pub fn allocations(
        &mut self,
        device: u32,
        selection: JsValue,
        question: JsValue,
    ) -> Result<JsValue, JsValue> {
        let selection: Selection = from_js(selection)?;
        let question: Question = from_js(question)?;
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let Some(found) = findings.device(device) else { return Ok(JsValue::NULL) };
        self.explored.choose(snapshot, found, selection);
        let known = self.explored.table.take().filter(|(asked, _)| *asked == question);
        let table = known.map(|(_, table)| table).unwrap_or_else(|| {
            let allocations = self.explored.allocations();
            Table::of(snapshot, &findings.kinds, found, allocations, &question)
        });
        let head = plain(&table.head)?;
        self.explored.table = Some((question, table));
        Ok(head)
    }

    /// Rows `from` to `to`, exclusive, of the latest table; none before there is one.
    ///
    /// # Errors
    /// None that a caller could mend.
    #[wasm_bindgen(js_name = allocationRows)]
    pub fn allocation_rows(&self, from: u32, to: u32) -> Result<JsValue, JsValue> {
        let Some((snapshot, findings, found, table)) = self.table() else {
            return Ok(js_sys::Array::new().into());
        };
        plain(&table.rows(snapshot, &findings.kinds, found, from as usize, to as usize))
    }

    /// The latest table as comma-separated values, files with their folders or without; empty
    /// before there is one.
    #[wasm_bindgen(js_name = allocationsCsv)]
    #[must_use]
    pub fn allocations_csv(&self, has_folders: bool) -> String {
        self.table()
            .map(|(snapshot, findings, found, table)| {
                table.csv(snapshot, &findings.kinds, found, has_folders)
            })
            .unwrap_or_default()
    }

    /// The steps of a device, as `{count, has_clock, note, picture}` with at most so many columns;
    /// `null` before a file is open.
    ///
    /// # Errors
    /// None that a caller could mend.
    pub fn steps(&mut self, device: u32, columns: u32) -> Result<JsValue, JsValue> {
        let Some((snapshot, findings, _)) = &self.opened else { return Ok(JsValue::NULL) };
        let Some(found) = findings.device(device) else { return Ok(JsValue::NULL) };
        let known = self.explored.steps.take().filter(|(of, _)| *of == device);
        let rows = known.map_or_else(|| steps::rows(snapshot, found), |(_, rows)| rows);
        let head = StepsHead {
            count: rows.len() as u32,
            has_clock: rows.iter().any(|row| row.duration_us.is_some()),
            note: if rows.is_empty() { NO_STEPS } else { "" },
            picture: StepsPicture::of(&rows, columns),
        };
        self.explored.steps = Some((device, rows));
        plain(&head)
    }

    /// Rows `from` to `to`, exclusive, of the steps asked for last; none before that.
    ///
    /// # Errors
    /// None that a caller could mend.
    #[wasm_bindgen(js_name = stepRows)]
    pub fn step_rows(&self, from: u32, to: u32) -> Result<JsValue, JsValue> {
        let rows = self.explored.steps.as_ref().map_or(&[][..], |(_, rows)| rows);
        let end = (to as usize).min(rows.len());
        plain(&rows.get((from as usize).min(end)..end).unwrap_or_default())
    }

    fn table(&self) -> Option<(&Snapshot, &Findings, &Device, &Table)> {
        let (snapshot, findings, _) = self.opened.as_ref()?;
        let (device, ..) = self.explored.chosen.as_ref()?;
        let (_, table) = self.explored.table.as_ref()?;
        Some((snapshot, findings, findings.device(*device)?, table))
    }
}

/// What the page shows of the steps at once.
#[derive(Serialize)]
struct StepsHead {
    count: u32,
    has_clock: bool,
    note: &'static str,
    picture: StepsPicture,
}

fn stacks_value(
    snapshot: &Snapshot,
    tree: &StackTree,
    root: u32,
    icicle: &Icicle,
) -> Result<JsValue, JsValue> {
    let head = StacksHead {
        bytes: tree.nodes[0].bytes,
        count: tree.nodes[0].count,
        has_frames: has_frames(tree),
        crumbs: crumbs(snapshot, tree, root),
        rows: rows(snapshot, tree, root),
    };
    let column = |numbers: &[u32]| js_sys::Uint32Array::from(numbers).into();
    Ok(object(&[
        ("head", plain(&head)?),
        ("icicle", plain(icicle)?),
        ("node", column(&icicle.cells.node)),
        ("nodes", column(&icicle.cells.nodes)),
        ("row", column(&icicle.cells.row)),
        ("left", column(&icicle.cells.left)),
        ("right", column(&icicle.cells.right)),
        ("look", column(&icicle.cells.look)),
        ("label", column(&icicle.cells.label)),
        ("bytes", js_sys::Float64Array::from(icicle.cells.bytes.as_slice()).into()),
    ]))
}

/// What the page says, as the module takes it.
fn from_js<T: DeserializeOwned>(value: JsValue) -> Result<T, JsValue> {
    serde_wasm_bindgen::from_value(value).map_err(JsValue::from)
}
