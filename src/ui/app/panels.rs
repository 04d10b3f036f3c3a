//! Where everything stands on the page.

use super::{App, Msg, Tab};
use crate::i18n::{Arg, Message as Text};
use crate::session::{self, Dialog, Model, Selection};
use crate::sim::id::{GroupId, NodeId};
use crate::sim::time::Time;
use crate::ui::charts::{Charts, Plots};
use crate::ui::dialogs::Dialogs;
use crate::ui::embed::{LastDecision, StartCover};
use crate::ui::header::Header;
use crate::ui::layers::LayerCards;
use crate::ui::map::ClusterMap;
use crate::ui::notice::NoticeBar;
use crate::ui::say;
use crate::ui::score::ScorePanel;
use crate::ui::shell::{address, clipboard};
use crate::ui::tasks::TaskPanel;
use crate::ui::transport::Transport;
use crate::ui::why::WhyLog;
use crate::view::charts::Chart;
use crate::view::trace::driven;
use crate::view::{Texts, scenario_texts};
use std::rc::Rc;
use yew::{Callback, Context, Html, classes, html};

impl App {
    pub(super) fn draw(&self, ctx: &Context<Self>) -> Html {
        let model = self.model.borrow();
        if ctx.props().options.embed { self.embed(ctx, &model) } else { self.page(ctx, &model) }
    }

    fn page(&self, ctx: &Context<Self>, model: &Model) -> Html {
        let link = ctx.link();
        let shows = |panel| self.shows(ctx, panel);
        let tab = tab_id(self.tab);
        html! {
            <div class={classes!("app", self.dragging.then_some("dragging"), self.map_parts(ctx))} data-tab={tab}>
                <Header lang={model.lang} title={self.title(model)} seed={model.run.setup().seed}
                    can_undo={model.run.can_undo()} can_redo={model.run.can_redo()} theme={model.theme}
                    on_message={link.callback(Msg::Session)} on_file={link.callback(Msg::File)} />
                { self.tabs(ctx, model) }
                <main class="board">
                    if shows("layers") {
                        <div class="column panel-layers">
                            <LayerCards snapshot={model.snapshot.clone()} lang={model.lang} on_message={link.callback(Msg::Session)} />
                        </div>
                    }
                    if shows("map") { <div class="column panel-map">{ self.map(ctx, model, self.narrow) }</div> }
                    if shows("tasks") || shows("why") {
                        <div class="column panel-side">
                            if shows("tasks") { <div class="panel-tasks">{ tasks(model) }</div> }
                            if shows("why") { <div class="panel-why">{ self.why(ctx, model) }</div> }
                        </div>
                    }
                </main>
                if shows("time") { { self.transport(ctx, model) } }
                if shows("charts") {
                    <div class="panel-charts">
                        { self.charts(ctx, model, None) }
                        <ScorePanel snapshot={model.snapshot.clone()} lang={model.lang} />
                    </div>
                }
                { self.over(ctx, model) }
            </div>
        }
    }

    fn embed(&self, ctx: &Context<Self>, model: &Model) -> Html {
        let link = ctx.link();
        let texts = scenario_texts(&model.scenario);
        let chart = texts.as_ref().map_or(Chart::Queue, |t| t.chart);
        let shows = |panel| self.shows(ctx, panel);
        html! {
            <div class={classes!("app", "embed", (!self.begun).then_some("waiting"), self.map_parts(ctx))}>
                <main class="board">
                    <div class="column panel-map" inert={!self.begun}>{ self.map(ctx, model, true) }</div>
                    if !self.begun {
                        <StartCover lang={model.lang} title={self.title_message(model)}
                            question={texts.map(|t| t.question)} on_start={link.callback(|()| Msg::Begin)} />
                    }
                </main>
                if shows("time") { { self.transport(ctx, model) } }
                if shows("charts") { <div class="panel-charts">{ self.charts(ctx, model, Some(chart)) }</div> }
                <LastDecision lang={model.lang} snapshot={model.snapshot.clone()} decisions={self.look.decisions.clone()}
                    full_lab={self.full_lab()} />
                { self.over(ctx, model) }
            </div>
        }
    }

    fn shows(&self, ctx: &Context<Self>, panel: &str) -> bool {
        ctx.props().options.panels.as_ref().is_none_or(|named| named.contains(&panel))
    }

    /// Parts of the map that the address left out.
    fn map_parts(&self, ctx: &Context<Self>) -> Vec<&'static str> {
        let parts = [("pending", "no-pending"), ("tools", "no-tools")];
        parts.into_iter().filter(|(part, _)| !self.shows(ctx, part)).map(|(_, class)| class).collect()
    }

    fn title_message(&self, model: &Model) -> Text {
        let own = || Text::Word { word: Arg::Name(model.scenario.clone()) };
        scenario_texts(&model.scenario).map_or_else(own, |t| t.title)
    }

    fn title(&self, model: &Model) -> yew::AttrValue {
        say(&model.lang, &self.title_message(model))
    }

    /// The way between the views of the narrow layout; style sheets hide it elsewhere.
    fn tabs(&self, ctx: &Context<Self>, model: &Model) -> Html {
        let all = [
            (Tab::Map, Text::TabMap),
            (Tab::Layers, Text::TabLayers),
            (Tab::Why, Text::TabWhy),
            (Tab::Charts, Text::TabCharts),
            (Tab::Tasks, Text::TabTasks),
        ];
        let one = |(tab, text): (Tab, Text)| {
            html! {
                <button data-testid={format!("tab-{}", tab_id(tab))} aria-current={(tab == self.tab).then_some("true")}
                    onclick={ctx.link().callback(move |_| Msg::ShowTab(tab))}>{ say(&model.lang, &text) }</button>
            }
        };
        html! {
            <nav class="tabs" aria-label={say(&model.lang, &Text::TabsLabel)}>{ for all.into_iter().map(one) }</nav>
        }
    }

    fn map(&self, ctx: &Context<Self>, model: &Model, compact: bool) -> Html {
        html! {
            <ClusterMap snapshot={model.snapshot.clone()} lang={model.lang} selection={model.selection.clone()}
                highlight={self.highlight(model)} on_message={ctx.link().callback(Msg::Session)} {compact} />
        }
    }

    /// What the picked record of the why-log touched.
    fn highlight(&self, model: &Model) -> (Vec<NodeId>, Vec<GroupId>) {
        let Selection::Decision(id) = model.selection else {
            return Default::default();
        };
        let picked = self.look.decisions.iter().find(|d| d.id == id);
        picked.map(|d| d.touches()).unwrap_or_default()
    }

    fn why(&self, ctx: &Context<Self>, model: &Model) -> Html {
        html! {
            <WhyLog decisions={self.look.decisions.clone()} snapshot={model.snapshot.clone()} lang={model.lang}
                selection={model.selection.clone()} on_message={ctx.link().callback(Msg::Session)} />
        }
    }

    fn transport(&self, ctx: &Context<Self>, model: &Model) -> Html {
        html! {
            <Transport lang={model.lang} now={model.run.now()} seen_until={model.run.seen_until()}
                day_start={model.snapshot.day_start} end={model.run.end()} playing={model.playing}
                jump_target={model.jump_target()} speed={model.speed} marks={self.look.marks.clone()}
                on_message={ctx.link().callback(Msg::Session)} />
        }
    }

    fn charts(&self, ctx: &Context<Self>, model: &Model, only: Option<Chart>) -> Html {
        html! {
            <Charts lang={model.lang} plots={Plots(self.look.plots.clone())} snapshot={model.snapshot.clone()}
                colours={self.look.colours} on_service={ctx.link().callback(Msg::ChartService)} {only} />
        }
    }

    /// What lies over the page: notices, dialogs, the drop hint, the live region.
    fn over(&self, ctx: &Context<Self>, model: &Model) -> Html {
        let link = ctx.link();
        let copied = link.callback(Msg::Copied);
        let on_copy = Callback::from(move |fragment: String| {
            clipboard::copy(format!("{}#{fragment}", address::page()), copied.clone());
        });
        let asks = matches!(model.dialog, Some(Dialog::Trace { .. }));
        let services = if asks { driven(&model.snapshot) } else { Vec::new() };
        html! {
            <>
                <NoticeBar lang={model.lang} notice={model.notice.clone()} reading={self.reading.clone()}
                    day_start={model.snapshot.day_start} on_message={link.callback(Msg::Session)}
                    on_cancel={link.callback(|()| Msg::CancelReading)} />
                <Dialogs lang={model.lang} dialog={model.dialog.clone()} scenario={model.scenario.clone()}
                    page={address::page()} copied={self.copied} single_keys={self.single_keys.get()}
                    {services} run_length={model.run.end().since(Time::ZERO)}
                    on_message={link.callback(Msg::Session)} on_single_keys={link.callback(Msg::SingleKeys)} {on_copy} />
                if self.dragging {
                    <div class="drop-hint" aria-hidden="true">{ say(&model.lang, &Text::DropHere) }</div>
                }
                <div class="visually-hidden" aria-live="polite" data-testid="live">{ self.talk.text(&model.lang) }</div>
            </>
        }
    }

    /// The address of the full lab in the present state.
    fn full_lab(&self) -> Callback<(), String> {
        let model: Rc<std::cell::RefCell<Model>> = self.model.clone();
        Callback::from(move |()| {
            let model = model.borrow();
            format!("{}?lang={}#{}", address::page(), model.lang.tag, session::link(&model).0)
        })
    }
}

fn tab_id(tab: Tab) -> &'static str {
    match tab {
        Tab::Map => "map",
        Tab::Layers => "layers",
        Tab::Why => "why",
        Tab::Charts => "charts",
        Tab::Tasks => "tasks",
    }
}

/// The tasks of the scenario with their words; a learner's own file has only its ids. While a trace
/// drives the run there are none, and story and hints would be about other traffic.
fn tasks(model: &Model) -> Html {
    let texts: Option<Texts> = scenario_texts(&model.scenario);
    let own = |id: &str| Text::Word { word: Arg::Name(id.to_owned()) };
    let word = |id: &str| {
        let known = texts.as_ref().and_then(|t| t.tasks.iter().find(|(i, _)| *i == id));
        known.map_or_else(|| own(id), |(_, text)| text.clone())
    };
    let list: Vec<(Text, bool)> = model.tasks.iter().map(|(t, done)| (word(&t.id), done.is_some())).collect();
    let replaced = || {
        let name = model.trace.as_ref().map(|(name, _)| name.chars().take(60).collect::<String>());
        Text::TraceStory { name: name.unwrap_or_default().into() }
    };
    let (title, story, hints) = match &texts {
        Some(t) if model.trace.is_some() => (t.title.clone(), replaced(), Vec::new()),
        Some(t) => (t.title.clone(), t.story.clone(), t.hints.clone()),
        None if model.trace.is_some() => (own(&model.scenario), replaced(), Vec::new()),
        None => (own(&model.scenario), Text::OwnScenario, Vec::new()),
    };
    html! { <TaskPanel {title} {story} tasks={list} {hints} lang={model.lang} /> }
}
